/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/machine.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/route.h>
#include <linux/random.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "wire/agent_machine.h"

#define MODULES_DIR "/modules"
#define DISK "/dev/vda"
#define ROOT "/root"
#define DEVICE_WAIT_MS 10000
#define DEVICE_LOOK_MS 2
#define BACKLOG 128
#define GROUP "/sys/fs/cgroup/sandbox"
#define MACHINE_ID "/etc/machine-id"
#define RESOLVER_FILE "/etc/resolv.conf"

struct machine_mount {
	const char *what, *where, *type;
	unsigned long flags;
	const char *options;
};

static int mount_filesystems(const struct machine_mount *all, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct machine_mount *m = &all[i];

		if (mkdir(m->where, 0755) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make folder '%s'", m->where);
		if (mount(m->what, m->where, m->type, m->flags, m->options) < 0)
			return FAIL_ERRNO(err, "mount '%s'", m->where);
	}
	return 0;
}

static int load_module(const char *name, struct error *err)
{
	char path[512];

	(void)snprintf(path, sizeof(path), MODULES_DIR "/%.255s", name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
		return FAIL_ERRNO(err, "load module '%s'", name);
	return 0;
}

/* Their names begin with numbers, in the order in which they need one another. */
static int load_modules(struct error *err)
{
	struct dirent **entries;
	int count = scandir(MODULES_DIR, &entries, NULL, alphasort), status = 0;

	for (int i = 0; i < count; i++) {
		if (status == 0 && entries[i]->d_name[0] != '.')
			status = load_module(entries[i]->d_name, err);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return count < 0 ? FAIL_ERRNO(err, "list '" MODULES_DIR "'") : status;
}

/* The kernel makes the file of a device a moment after its driver has loaded. */
static int await_device(const char *path, struct error *err)
{
	int64_t deadline = deadline_after(DEVICE_WAIT_MS);
	const struct timespec pause = {.tv_nsec = DEVICE_LOOK_MS * 1000000};

	while (access(path, F_OK) < 0) {
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "the machine has no device '%s'", path);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int mount_root(struct error *err)
{
	static const struct machine_mount inner[] = {
	        {DISK, ROOT, "ext4", MS_NODEV, NULL},
	        {"proc", ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	        {"sysfs", ROOT "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	        {"cgroup2", ROOT "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC,
	         NULL},
	        {"devtmpfs", ROOT "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755"},
	        {"devpts", ROOT "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	         "mode=0620,gid=5,ptmxmode=0666"},
	        {"tmpfs", ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
	        {"tmpfs", ROOT "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"},
	};

	if (await_device(DISK, err) < 0)
		return -1;
	return mount_filesystems(inner, COUNT_OF(inner), err);
}

/* A group below the root group can have a limit; processes that the agent starts are in it. */
static int set_pids_max(int64_t pids_max, struct error *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)pids_max);
	return file_poke(AT_FDCWD, GROUP "/pids.max", text, err);
}

static int limit_pids(int64_t pids_max, struct error *err)
{
	if (mkdir(GROUP, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make a cgroup");
	if (file_poke(AT_FDCWD, "/sys/fs/cgroup/cgroup.subtree_control", "+pids", err) < 0 ||
	    set_pids_max(pids_max, err) < 0)
		return -1;
	return file_poke(AT_FDCWD, GROUP "/cgroup.procs", "1", err);
}

static int enter_root(struct error *err)
{
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return FAIL_ERRNO(err, "enter the root of the sandbox");
	return 0;
}

static int set_up_interface(int fd, const char *name, uint32_t address, struct error *err)
{
	struct ifreq request = {0};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(address)}};
	struct sockaddr_in mask = {.sin_family = AF_INET, .sin_addr = {htonl(0xffffff00)}};

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (address) {
		memcpy(&request.ifr_addr, &a, sizeof(a));
		if (ioctl(fd, SIOCSIFADDR, &request) < 0)
			return FAIL_ERRNO(err, "set the address of '%s'", name);
		memcpy(&request.ifr_netmask, &mask, sizeof(mask));
		if (ioctl(fd, SIOCSIFNETMASK, &request) < 0)
			return FAIL_ERRNO(err, "set the network of '%s'", name);
	}
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? FAIL_ERRNO(err, "start '%s'", name) : 0;
}

static int open_listener(int *ret_fd, struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(AGENT_MACHINE_PORT),
	                              .sin_addr = {htonl(AGENT_MACHINE_ADDRESS)}};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	if (set_up_interface(fd, "lo", 0, err) < 0 ||
	    set_up_interface(fd, AGENT_MACHINE_LINK, AGENT_MACHINE_ADDRESS, err) < 0)
		return -1;
	/* A connection from inside comes by the loopback interface, whatever its address. */
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, AGENT_MACHINE_LINK,
	               sizeof(AGENT_MACHINE_LINK)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen in the machine");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The host reads the console. */
static int say_line(const char *line, struct error *err)
{
	AUTO_CLOSE int fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? FAIL_ERRNO(err, "open the console")
	              : fd_write_all(fd, line, strlen(line), err);
}

static void say_failure(const struct error *why)
{
	char line[ERROR_TEXT_MAX + 32];
	struct error ignored = {0};

	(void)snprintf(line, sizeof(line), "the agent cannot begin: %s\n", why->text);
	(void)!say_line(line, &ignored);
}

static int set_hostname(const char *name, struct error *err)
{
	return sethostname(name, strlen(name)) < 0 ? FAIL_ERRNO(err, "set the host name") : 0;
}

static int begin_inside(const struct machine *m, int *ret_listener, struct error *err)
{
	if (load_modules(err) < 0 || mount_root(err) < 0 || enter_root(err) < 0 ||
	    limit_pids(m->pids_max, err) < 0 || set_hostname(m->hostname, err) < 0 ||
	    open_listener(ret_listener, err) < 0)
		return -1;
	return say_line(AGENT_MACHINE_READY "\n", err);
}

int machine_begin(const struct machine *m, int *ret_listener, struct error *err)
{
	static const struct machine_mount early[] = {
	        {"devtmpfs", "/dev", "devtmpfs", MS_NOSUID, NULL},
	};

	if (getpid() != 1)
		return FAIL(err, ERROR_INVALID, "--machine is for process 1 of a virtual machine");
	if (mount_filesystems(early, COUNT_OF(early), err) < 0)
		return -1;
	if (begin_inside(m, ret_listener, err) == 0)
		return 0;
	say_failure(err);
	return -1;
}

/* Until then the kernel of every machine of one memory gives the same random numbers. */
static int add_entropy(struct span entropy, struct error *err)
{
	union {
		struct rand_pool_info head;
		char bytes[sizeof(struct rand_pool_info) + AGENT_IDENTITY_ENTROPY];
	} pool = {.bytes = {0}};

	if (entropy.size != AGENT_IDENTITY_ENTROPY)
		return FAIL(err, ERROR_INVALID, "%zu random bytes are not %d", entropy.size,
		            AGENT_IDENTITY_ENTROPY);
	pool.head.entropy_count = (int)entropy.size * 8;
	pool.head.buf_size = (int)entropy.size;
	memcpy(pool.bytes + sizeof(struct rand_pool_info), entropy.data, entropy.size);
	AUTO_CLOSE int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		return FAIL_ERRNO(err, "renew the random numbers");
	return 0;
}

static int set_time(int64_t unix_us, struct error *err)
{
	const struct timespec now = {unix_us / 1000000, unix_us % 1000000 * 1000};

	return clock_settime(CLOCK_REALTIME, &now) < 0 ? FAIL_ERRNO(err, "set the clock") : 0;
}

/* Does nothing without that file, and for a link. */
static void renew_machine_id(void)
{
	unsigned char bytes[16];
	char text[2 * sizeof(bytes) + 1];
	struct error ignored = {0};
	struct stat file;

	if (lstat(MACHINE_ID, &file) < 0 || !S_ISREG(file.st_mode))
		return;
	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), text);
	text[sizeof(text) - 1] = '\n';
	(void)!file_write(AT_FDCWD, MACHINE_ID, (struct span){text, sizeof(text)}, 0444, &ignored);
}

static int add_route(int fd, uint32_t to, const struct rtentry *rest, struct error *err)
{
	struct rtentry route = *rest;
	struct sockaddr_in any = {.sin_family = AF_INET}, target = any;

	target.sin_addr.s_addr = htonl(to);
	memcpy(&route.rt_dst, &target, sizeof(target));
	memcpy(&route.rt_genmask, &any, sizeof(any));
	if (ioctl(fd, SIOCADDRT, &route) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "add a route");
	return 0;
}

/* QEMU's side of the link stands for the loopback interface of the shell, where QEMU listens for
 * the agent's connections. It routes, but no process of a user inside may connect to it. */
static int open_outside(int fd, struct error *err)
{
	struct sockaddr_in gateway = {.sin_family = AF_INET,
	                              .sin_addr = {htonl(AGENT_MACHINE_GATEWAY)}};
	const struct rtentry refused = {.rt_flags = RTF_UP | RTF_HOST | RTF_REJECT};
	struct rtentry outside = {.rt_flags = RTF_UP | RTF_GATEWAY};

	memcpy(&outside.rt_gateway, &gateway, sizeof(gateway));
	if (set_up_interface(fd, AGENT_MACHINE_OUTSIDE, AGENT_MACHINE_OUTSIDE_ADDRESS, err) < 0 ||
	    add_route(fd, 0, &outside, err) < 0 ||
	    add_route(fd, AGENT_MACHINE_GATEWAY, &refused, err) < 0)
		return -1;
	return 0;
}

/* A link or a folder is left alone. */
static void name_resolver(void)
{
	struct error ignored = {0};
	struct stat file;

	if (lstat(RESOLVER_FILE, &file) == 0 && !S_ISREG(file.st_mode))
		return;
	(void)!file_write(AT_FDCWD, RESOLVER_FILE, SPAN("nameserver " AGENT_MACHINE_NAMES "\n"),
	                  0644, &ignored);
}

static int set_up_network(bool has_network, struct error *err)
{
	struct ifreq request = {.ifr_name = AGENT_MACHINE_OUTSIDE};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	if (has_network) {
		name_resolver();
		return open_outside(fd, err);
	}
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0
	               ? FAIL_ERRNO(err, "stop '" AGENT_MACHINE_OUTSIDE "'")
	               : 0;
}

int machine_identify(const struct agent_identity *identity, struct error *err)
{
	/* It may take long, but nothing outside of the machine waits for more than its own disk. */
	if (identity->only_syncs) {
		sync();
		return 0;
	}
	if (add_entropy(identity->entropy, err) < 0 || set_time(identity->unix_us, err) < 0 ||
	    set_hostname(identity->hostname, err) < 0 ||
	    set_pids_max((int64_t)identity->pids_max, err) < 0 ||
	    set_up_network(identity->has_network, err) < 0)
		return -1;
	if (identity->is_new)
		renew_machine_id();
	return 0;
}

void machine_end(void)
{
	sync();
	/* The machine has no other way out: the host ends it in place of a restart. */
	(void)reboot(RB_AUTOBOOT);
	_exit(1);
}
