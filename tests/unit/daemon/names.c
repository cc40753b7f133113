/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/names.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/credentials.h"
#include "unit.h"

#define HANDOVER_FD 9 /* no attempt uses it */
#define SOURCES_FD 8

/* What one who has taken the gateway over would want. Each is a call that would do something, or
 * fail in another way, without the filter. */
static long make_local_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long make_netlink_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static long make_ipv6_socket(void)
{
	return socket(AF_INET6, SOCK_DGRAM, 0);
}

static long make_raw_socket(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static long make_sctp_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
}

static long make_packet_socket(void)
{
	return socket(AF_INET, SOCK_PACKET, 0);
}

static long listen_to_it(void)
{
	return listen(socket(AF_INET, SOCK_STREAM, 0), 1);
}

/* The address and port do not matter: the filter sees neither. */
static long hold_port(void)
{
	const struct sockaddr_in own = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&own, sizeof(own));
}

static long take_descriptors(void)
{
	struct msghdr message = {.msg_name = NULL};

	return recvmsg(STDIN_FILENO, &message, MSG_DONTWAIT);
}

static long open_file(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY);
}

static long remove_file(void)
{
	return unlinkat(AT_FDCWD, "/nonexistent", 0);
}

static long change_mode(void)
{
	return fchmod(STDIN_FILENO, 0600);
}

static long run_program(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

static long make_process(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long make_process_new_way(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long signal_parent(void)
{
	return kill(getppid(), 0);
}

static long signal_other_thread_group(void)
{
	return syscall(SYS_tgkill, 1, 1, 0);
}

static long signal_by_queue(void)
{
	return syscall(SYS_rt_sigqueueinfo, 1, 0, NULL);
}

static long trace_parent(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long read_others_memory(void)
{
	return process_vm_readv(getpid(), NULL, 0, NULL, 0, 0);
}

static long change_limits(void)
{
	struct rlimit limit;

	return prlimit(0, RLIMIT_NOFILE, NULL, &limit);
}

static long change_itself(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long make_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long change_root(void)
{
	return chroot("/");
}

static long pass_descriptors(void)
{
	const struct msghdr message = {.msg_name = NULL};

	return sendmsg(STDIN_FILENO, &message, 0);
}

static long control_device(void)
{
	return syscall(SYS_ioctl, STDIN_FILENO, 0x5401, NULL);
}

static const struct {
	const char *name;
	long (*run)(void);
} attempts[] = {
        {"a unix socket", make_local_socket},
        {"a netlink socket", make_netlink_socket},
        {"a socket of IPv6", make_ipv6_socket},
        {"a raw socket", make_raw_socket},
        {"a socket of SCTP", make_sctp_socket},
        {"a packet socket", make_packet_socket},
        {"listen", listen_to_it},
        {"bind", hold_port},
        {"openat", open_file},
        {"unlinkat", remove_file},
        {"fchmod", change_mode},
        {"execve", run_program},
        {"clone", make_process},
        {"clone3", make_process_new_way},
        {"kill", signal_parent},
        {"tgkill", signal_other_thread_group},
        {"rt_sigqueueinfo", signal_by_queue},
        {"ptrace", trace_parent},
        {"process_vm_readv", read_others_memory},
        {"prlimit", change_limits},
        {"prctl", change_itself},
        {"unshare", make_namespace},
        {"chroot", change_root},
        {"sendmsg", pass_descriptors},
        {"ioctl", control_device},
};

/* What it lives by, and cannot be tried by the way: 0 = fine. */
static int try_needed(void)
{
	const struct sockaddr_in there = {.sin_family = AF_INET,
	                                  .sin_port = htons(9),
	                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	int stream6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (stream < 0 || datagrams < 0 || (stream6 < 0 && errno == EPERM))
		return 101;
	if (stream6 >= 0 && close(stream6) < 0)
		return 107;
	if (connect(datagrams, (const struct sockaddr *)&there, sizeof(there)) < 0)
		return 102;
	if (take_descriptors() == 0 || errno != EPERM)
		return 108;
	return close(stream) == 0 && close(datagrams) == 0 ? 0 : 103;
}

static int filter_names(struct error *err)
{
	return names_filter(HANDOVER_FD, SOURCES_FD, err);
}

static int filter_sources(struct error *err)
{
	return names_sources_filter(SOURCES_FD, err);
}

/* TCP sockets with an address, and nothing else. */
static int try_sources(void)
{
	const struct sockaddr_in own = {.sin_family = AF_INET,
	                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int yes = 1;
	int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (stream < 0 ||
	    setsockopt(stream, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes)) < 0 ||
	    bind(stream, (const struct sockaddr *)&own, sizeof(own)) < 0)
		return 110;
	if (connect(stream, (const struct sockaddr *)&own, sizeof(own)) == 0 || errno != EPERM)
		return 111;
	if (setsockopt(stream, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) == 0 || errno != EPERM)
		return 112;
	if (socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) >= 0 || errno != EPERM)
		return 113;
	return close(stream) == 0 ? 0 : 114;
}

/* The proxy makes no socket at all. */
static int try_no_socket(void)
{
	const struct sockaddr_in there = {.sin_family = AF_INET};

	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 104;
	if (connect(STDIN_FILENO, (const struct sockaddr *)&there, sizeof(there)) == 0 ||
	    errno != EPERM)
		return 105;
	if (bind(STDIN_FILENO, (const struct sockaddr *)&there, sizeof(there)) == 0 ||
	    errno != EPERM)
		return 109;
	return syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) < 0 && errno == EPERM ? 0 : 106;
}

static int try_all(int (*filter)(struct error *err), int (*try_needs)(void))
{
	struct error err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter(&err) < 0)
		return 100;
	for (int i = 0; i < (int)COUNT_OF(attempts); i++)
		if (attempts[i].run() != -1 || errno != EPERM)
			return i + 1;
	return try_needs();
}

static void check_filter(int (*filter)(struct error *err), int (*try_needs)(void))
{
	pid_t pid;
	int status;

	/* A sanitizer has calls of its own, and the process another filter then. */
	if (ATOLL_SANITIZED) {
		print_message("with a sanitizer the process has another filter\n");
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit(try_all(filter, try_needs));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	status = WEXITSTATUS(status);
	if (status > 0 && status <= (int)COUNT_OF(attempts))
		fail_msg("%s was let", attempts[status - 1].name);
	assert_int_equal(status, 0);
}

TEST(what_the_gateway_for_names_does_not_need_is_refused)
{
	check_filter(filter_names, try_needed);
}

TEST(what_the_child_for_source_addresses_does_not_need_is_refused)
{
	check_filter(filter_sources, try_sources);
}

TEST(what_the_credential_proxy_does_not_need_is_refused)
{
	check_filter(credentials_filter, try_no_socket);
}

int main(void)
{
	return RUN(CASE(what_the_gateway_for_names_does_not_need_is_refused),
	           CASE(what_the_child_for_source_addresses_does_not_need_is_refused),
	           CASE(what_the_credential_proxy_does_not_need_is_refused));
}
