/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/diagnosis.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "config/config.h"
#include "isolation/checkpoint.h"
#include "isolation/ids.h"
#include "isolation/isolation.h"
#include "isolation/layer.h"
#include "isolation/project_quota.h"
#include "json/write.h"

#define XFS_MAGIC 0x58465342

extern char **environ;

static const char *const verdict_names[] = {
        [VERDICT_GOOD] = "ok",
        [VERDICT_LESS] = "less",
        [VERDICT_BAD] = "missing",
};

static bool look_root(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	*found = geteuid() == 0 ? "root" : arena_format(a, "user %u", (unsigned)geteuid());
	return geteuid() == 0;
}

static bool look_kernel(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	struct utsname host;
	unsigned long major, minor;
	char *end;

	if (uname(&host) < 0)
		return false;
	*found = arena_text(a, host.release);
	major = strtoul(host.release, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major > 5 || (major == 5 && minor >= 19);
}

static bool look_native(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	struct error err;

	if (isolation_check_host(&err) == 0) {
		*found = "namespaces, overlay and the rest are there";
		return true;
	}
	*found = arena_text(a, err.text);
	return false;
}

/* Runs `try` in a child, whose namespaces end with it. Returns 0 or its errno. */
static int try_in_child(int (*try)(void))
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(try() < 0 ? errno : 0);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return EIO;
	return WEXITSTATUS(status);
}

static int try_user_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static bool look_user_namespaces(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	int failed = try_in_child(try_user_namespace);

	*found = failed ? arena_format(a, "refused: %s", strerror(failed)) : "can be made";
	return !failed;
}

static int try_overlay(void)
{
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k") < 0)
		return -1;
	if (mkdir("/tmp/l", 0700) < 0 || mkdir("/tmp/u", 0700) < 0 || mkdir("/tmp/w", 0700) < 0 ||
	    mkdir("/tmp/m", 0700) < 0)
		return -1;
	return mount("overlay", "/tmp/m", "overlay", 0,
	             "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w");
}

static bool look_overlay(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	int failed = try_in_child(try_overlay);

	*found = failed ? arena_format(a, "mount refused: %s", strerror(failed)) : "mounts";
	return !failed;
}

const char *diagnosis_existing_part(struct arena *a, const char *path)
{
	char *part = arena_text(a, path);

	while (part[0] && access(part, F_OK) < 0) {
		char *slash = strrchr(part, '/');

		if (!slash)
			return ".";
		*slash = '\0';
	}
	return part[0] ? part : "/";
}

static bool look_id_maps(struct arena *a, const char *data_dir, const char **found)
{
	AUTO_CLOSE int map = -1, layer = -1;
	struct layer_options options = {.map_fd = -1};
	struct error err;

	if (geteuid() != 0) {
		*found = "only root can try";
		return false;
	}
	if (id_map_open(SLOTS_MAX - 1, &map, &err) == 0) {
		options.map_fd = map;
		if (layer_open(AT_FDCWD, diagnosis_existing_part(a, data_dir), &options, &layer,
		               &err) == 0) {
			*found = "the data folder's filesystem takes them";
			return true;
		}
	}
	*found = arena_text(a, err.text);
	return false;
}

static const char *v2_controllers(struct arena *a, const char *path)
{
	AUTO(buf_done) struct buf text = {0};
	struct error ignored;

	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return "";
	return arena_copy(a, (struct span){buf_text(&text), strcspn(buf_text(&text), "\n")});
}

/* Each controller of v1 has a folder with a cgroup filesystem. */
static const char *v1_controllers(struct arena *a)
{
	static const char *const names[] = {"memory", "cpu", "pids", "cpuacct", "freezer", "blkio"};
	AUTO(buf_done) struct buf text = BUF(256);
	struct statfs status;

	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", names[i]);
		if (statfs(path, &status) == 0 && status.f_type == CGROUP_SUPER_MAGIC)
			buf_addf(&text, " %s", names[i]);
	}
	return arena_text(a, buf_text(&text));
}

static bool has_needed(const char *controllers)
{
	return strstr(controllers, "memory") && strstr(controllers, "cpu") &&
	       strstr(controllers, "pids");
}

static bool look_cgroups(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	const char *controllers;
	struct statfs status;
	bool hybrid;

	if (statfs("/sys/fs/cgroup", &status) < 0) {
		*found = "/sys/fs/cgroup is not there";
		return false;
	}
	if (status.f_type == CGROUP2_SUPER_MAGIC) {
		controllers = v2_controllers(a, "/sys/fs/cgroup/cgroup.controllers");
		*found = arena_format(a, "v2: %s", controllers);
		return has_needed(controllers);
	}
	hybrid = statfs("/sys/fs/cgroup/unified", &status) == 0 &&
	         status.f_type == CGROUP2_SUPER_MAGIC;
	controllers = v1_controllers(a);
	*found = arena_format(a, "%s:%s", hybrid ? "hybrid, controllers on v1" : "v1", controllers);
	return has_needed(controllers);
}

static bool look_seccomp(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	const char *actions = v2_controllers(a, "/proc/sys/kernel/seccomp/actions_avail");

	*found = actions[0] ? actions : "the kernel has no seccomp filters";
	return strstr(actions, "errno") != NULL;
}

static bool look_kvm(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	AUTO_CLOSE int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	*found = fd >= 0 ? "/dev/kvm opens" : arena_format(a, "/dev/kvm: %s", strerror(errno));
	return fd >= 0;
}

static bool find_program(const char *name)
{
	static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
	                                      "/usr/bin",        "/sbin",          "/bin"};

	for (unsigned i = 0; i < COUNT_OF(folders); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* cgroups v1 has the file in the root group, v2 only below it. */
static bool look_burst(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	static const char *const patterns[] = {"/sys/fs/cgroup/cpu/cpu.cfs_burst_us",
	                                       "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_burst_us",
	                                       "/sys/fs/cgroup/*/cpu.max.burst"};
	bool is_there = false;

	*found = "neither cpu.cfs_burst_us nor cpu.max.burst is there";
	for (unsigned i = 0; i < COUNT_OF(patterns) && !is_there; i++) {
		glob_t files = {0};

		is_there = glob(patterns[i], GLOB_NOSORT, NULL, &files) == 0;
		if (is_there)
			*found = arena_format(a, "%s is there", strrchr(patterns[i], '/') + 1);
		globfree(&files);
	}
	return is_there;
}

static const char *filesystem_name(struct arena *a, const char *folder)
{
	static const struct {
		long magic;
		const char *name;
	} names[] = {{BTRFS_SUPER_MAGIC, "btrfs"},
	             {EXT4_SUPER_MAGIC, "ext4"},
	             {XFS_MAGIC, "xfs"},
	             {TMPFS_MAGIC, "tmpfs"},
	             {OVERLAYFS_SUPER_MAGIC, "overlay"}};
	struct statfs status;

	if (statfs(folder, &status) < 0)
		return strerror(errno);
	for (unsigned i = 0; i < COUNT_OF(names); i++)
		if (status.f_type == names[i].magic)
			return names[i].name;
	return arena_format(a, "file system 0x%lx", (unsigned long)status.f_type);
}

/* An image file per sandbox on a loop device, see broker/volume/image.h. */
static bool can_make_images(void)
{
	return find_program("mkfs.ext4") && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* Probes as the server's start does. */
static bool has_project_quota(struct arena *a, const char *data_dir, const char **ret_why)
{
	AUTO_CLOSE int folder =
	        open(diagnosis_existing_part(a, data_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};

	*ret_why = "only root can try";
	if (geteuid() != 0 || folder < 0)
		return false;
	if (project_quota_probe(folder, &err) == 0)
		return true;
	*ret_why = arena_text(a, err.text);
	return false;
}

struct disk_limits {
	const char *option, *filesystem;
	bool is_watched;
	int64_t inodes; /* per GiB */
};

static bool find_watch(struct arena *a, const struct disk_limits *d, const char *why,
                       const char **found)
{
	const char *files =
	        d->inodes > 0 ? arena_format(a, "%lld files for each GiB", (long long)d->inodes)
	                      : "any number of files";

	*found = d->is_watched
	                 ? arena_format(
	                           a,
	                           "disk_watch pauses a sandbox soon after it exceeds its bytes, "
	                           "or %s; df inside shows the host's disk (%s, disk_quota %s%s%s)",
	                           files, d->filesystem, d->option, *why ? ": " : "", why)
	                 : arena_format(a,
	                                "nothing enforces bytes or files: disk_watch is off (%s, "
	                                "disk_quota %s%s%s)",
	                                d->filesystem, d->option, *why ? ": " : "", why);
	return d->is_watched;
}

static bool find_disk_limit(struct arena *a, const char *data_dir, const struct disk_limits *d,
                            const char **found)
{
	bool must = strcmp(d->option, "project") == 0 || strcmp(d->option, "image") == 0;
	const char *why = "";

	if (strcmp(d->option, "auto") == 0 || strcmp(d->option, "project") == 0) {
		if (has_project_quota(a, data_dir, &why)) {
			*found = arena_format(
			        a, "quotas of the filesystem enforce bytes and files (%s)",
			        d->filesystem);
			return true;
		}
	} else if (strcmp(d->option, "off") != 0) {
		if (can_make_images()) {
			*found = arena_format(a,
			                      "a disk image for each sandbox enforces bytes, and "
			                      "files: one for each 16 KiB (on %s)",
			                      d->filesystem);
			return true;
		}
		why = "needs mkfs.ext4 and /dev/loop-control";
	}
	if (!must)
		return find_watch(a, d, why, found);
	*found =
	        arena_format(a, "disk_quota %s does not work here; the server refuses to start: %s",
	                     d->option, why);
	return false;
}

static bool look_disk_limit(struct arena *a, const char *data_dir, const char **found)
{
	const char *const flags[] = {arena_format(a, "data=%s", data_dir), NULL};
	struct config config;
	struct error err;

	if (config_load(a, &(struct config_source){.flags = flags, .environment = environ}, &config,
	                &err) < 0) {
		*found = arena_text(a, err.text);
		return false;
	}
	return find_disk_limit(
	        a, data_dir,
	        &(struct disk_limits){
	                .option = config.disk_quota,
	                .filesystem = filesystem_name(a, diagnosis_existing_part(a, data_dir)),
	                .is_watched = strcmp(config.disk_watch, "on") == 0,
	                .inodes = config.disk_inodes,
	        },
	        found);
}

/* Lists which of the programs are installed and which are missing. */
static bool find_programs(struct arena *a, const char *const *names, const char **found)
{
	AUTO(buf_done) struct buf text = BUF(512);
	bool all = true;

	for (; *names; names++) {
		bool is_there = find_program(*names);

		buf_addf(&text, "%s%s%s", text.size > 0 ? ", " : "", is_there ? "" : "no ", *names);
		all = all && is_there;
	}
	*found = arena_text(a, buf_text(&text));
	return all;
}

static bool look_network(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	return find_programs(a, (const char *const[]){"nft", "ip", NULL}, found);
}

/* A default route that is not the kernel's own to nowhere, on loopback. */
static bool has_ipv6_route(void)
{
	static const char everywhere[] = "00000000000000000000000000000000 00 ";
	AUTO(buf_done) struct buf text = BUF((size_t)4 << 20);
	struct error ignored = {0};
	struct span rest, line;

	if (file_read(AT_FDCWD, "/proc/net/ipv6_route", &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_starts_with(line, everywhere) && !span_ends_with_word(line, SPAN(" lo")))
			return true;
	}
	return false;
}

static bool look_ipv6(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	AUTO(buf_done) struct buf text = BUF(16);
	struct error ignored = {0};
	bool forwards = file_read(AT_FDCWD, "/proc/sys/net/ipv6/conf/all/forwarding", &text,
	                          &ignored) == 0 &&
	                text.size > 0 && text.data[0] == '1';
	bool can = access("/proc/sys/net/ipv6/conf/all/force_forwarding", F_OK) == 0;
	bool has_route = has_ipv6_route();

	*found = arena_text(a, !has_route ? "no default route of IPv6"
	                       : forwards ? "a default route, and the host forwards"
	                       : can      ? "a default route, and links can forward"
	                                  : "a default route, and the host does not forward");
	return has_route && (forwards || can);
}

static bool look_builder(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	return find_programs(a, (const char *const[]){"mmdebstrap", NULL}, found);
}

static bool look_importers(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	return find_programs(a, (const char *const[]){"skopeo", "umoci", NULL}, found);
}

static bool look_criu(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	char *version = arena_alloc(a, 64);
	struct error err = {0};
	bool works = checkpoint_probe(&(struct checkpoint_options){.criu = NULL}, version, 64,
	                              &err) == 0;

	*found = works ? arena_format(a, "%s dumps and restores a process", version)
	               : arena_text(a, err.text);
	return works;
}

static bool look_docker(struct arena *a, UNUSED const char *data_dir, const char **found)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		*found = "the socket answers";
		return true;
	}
	*found = arena_format(a, "/run/docker.sock: %s", strerror(errno));
	return false;
}

static const struct diagnosis_check checks[] = {
        {"root", VERDICT_BAD, look_root, "the server that makes sandboxes needs root: use sudo"},
        {"kernel 5.19 or later", VERDICT_BAD, look_kernel, "layers cannot be id-mapped"},
        {"user namespaces", VERDICT_BAD, look_user_namespaces,
         "root in a sandbox would be root on the host; see sysctl user.max_user_namespaces"},
        {"kernel features", VERDICT_BAD, look_native, "the kernel lacks what native needs"},
        {"overlay", VERDICT_BAD, look_overlay, "sandboxes cannot share a template's files"},
        {"id-mapped mounts", VERDICT_BAD, look_id_maps,
         "files of a template cannot belong to a sandbox's users"},
        {"cgroups", VERDICT_BAD, look_cgroups, "memory, cpu and processes cannot be limited"},
        {"seccomp", VERDICT_BAD, look_seccomp, "system calls cannot be filtered"},
        {"network programs", VERDICT_LESS, look_network,
         "no internet in sandboxes; install nftables and iproute2"},
        {"IPv6", VERDICT_LESS, look_ipv6,
         "sandboxes reach IPv4 alone; see docs/operate/network.md"},
        {"disk limits", VERDICT_LESS, look_disk_limit,
         "a sandbox may fill the disk; set disk_watch to on, or disk_quota to auto or image"},
        {"processor burst", VERDICT_LESS, look_burst,
         "short commands in sandboxes with less than one processor wait for their quota"},
        {"template builder", VERDICT_LESS, look_builder,
         "template 'base' cannot be built; install mmdebstrap, or use template 'host'"},
        {"image importers", VERDICT_LESS, look_importers,
         "no import from registries and OCI layouts; install skopeo and umoci"},
        {"KVM", VERDICT_LESS, look_kvm, "no microVMs"},
        {"Docker", VERDICT_LESS, look_docker, "no sandboxes in Docker containers"},
        {"CRIU", VERDICT_LESS, look_criu,
         "memory cannot be kept in snapshots (their files can); CRIU 4 or later works on new "
         "kernels"},
};

unsigned diagnosis_count(void)
{
	return COUNT_OF(checks);
}

void diagnosis_run(struct arena *a, const char *data_dir, const struct diagnosis_check *table,
                   unsigned count, struct diagnosis *out)
{
	for (unsigned i = 0; i < count; i++) {
		const char *found = "";
		bool good = table[i].look(a, data_dir, &found);

		out[i] = (struct diagnosis){
		        .check = &table[i],
		        .verdict = good ? VERDICT_GOOD : table[i].otherwise,
		        .found = found,
		};
	}
}

unsigned diagnosis_make(struct arena *a, const char *data_dir, struct diagnosis *out)
{
	diagnosis_run(a, data_dir, checks, COUNT_OF(checks), out);
	return COUNT_OF(checks);
}

void diagnosis_add_text(const struct diagnosis *list, unsigned count, struct buf *out)
{
	for (unsigned i = 0; i < count; i++) {
		const struct diagnosis *d = &list[i];

		buf_addf(out, "%-8s %-22s %s\n", verdict_names[d->verdict], d->check->name,
		         d->found);
		if (d->verdict != VERDICT_GOOD)
			buf_addf(out, "%-31s -> %s\n", "", d->check->without);
	}
}

void diagnosis_add_json(const struct diagnosis *list, unsigned count, struct buf *out)
{
	json_begin_list(out, "checks");
	for (unsigned i = 0; i < count; i++) {
		const struct diagnosis *d = &list[i];

		buf_add_text(out, i > 0 ? ",\n  " : "\n  ");
		json_begin_object(out, NULL);
		json_add_text(out, "name", d->check->name);
		json_add_text(out, "verdict", verdict_names[d->verdict]);
		json_add_text(out, "found", d->found);
		json_add_text(out, "meaning",
		              d->verdict == VERDICT_GOOD ? NULL : d->check->without);
		json_end_object(out);
	}
	buf_add_byte(out, '\n');
	json_end_list(out);
}

bool diagnosis_is_able(const struct diagnosis *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (list[i].verdict == VERDICT_BAD)
			return false;
	}
	return true;
}
