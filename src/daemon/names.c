/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/names.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/identity.h"
#include "daemon/seccomp.h"
#include "egress/egress.h"

#define GATEWAY 0xa9fe0101u /* 169.254.1.1: NETWORK_GATEWAY of broker/network.h */
#define WAITING_MAX 4096
#define NAMESERVER_PORT 53
#define RESOLV_CONF_MAX (64 * 1024)

/* ---- sockets ---- */

static int open_socket(int kind, int *ret_fd, unsigned *ret_port, struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(GATEWAY)};
	AUTO_CLOSE int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(address);
	const int yes = 1;

	/* No link has the address before there is a sandbox with such rules. */
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, size) < 0 ||
	    (kind == SOCK_STREAM && listen(fd, WAITING_MAX) < 0) ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return FAIL_ERRNO(err, "open a socket of the gateway for names");
	*ret_port = ntohs(address.sin_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_rules(int run_fd, gid_t group, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(run_fd, "names", 0750) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder 'names'");
	fd = openat(run_fd, "names", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, 0, group) < 0 || fchmod(fd, 0750) < 0)
		return FAIL_ERRNO(err, "open the folder 'names'");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int names_open(struct names *ret, int run_fd, gid_t group, struct error *err)
{
	struct names n = NAMES_CLOSED;

	if (open_rules(run_fd, group, &n.fds[NAMES_RULES], err) == 0 &&
	    open_socket(SOCK_STREAM, &n.fds[NAMES_HTTP], &n.ports[NAMES_HTTP], err) == 0 &&
	    open_socket(SOCK_STREAM, &n.fds[NAMES_TLS], &n.ports[NAMES_TLS], err) == 0 &&
	    open_socket(SOCK_DGRAM, &n.fds[NAMES_DNS], &n.ports[NAMES_DNS], err) == 0) {
		*ret = n;
		return 0;
	}
	names_close(&n);
	return -1;
}

void names_close(struct names *n)
{
	for (unsigned i = 0; i < NAMES_FDS; i++)
		auto_close(&n->fds[i]);
	*n = NAMES_CLOSED;
}

/* ---- the process ---- */

/* All that it does from then on: wait, carry bytes, open files of its folder, keep time. */
static const int allowed[] = {
        SCMP_SYS(accept4),
        SCMP_SYS(brk),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(close),
        SCMP_SYS(connect),
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(epoll_pwait2),
        SCMP_SYS(epoll_wait),
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
        SCMP_SYS(fstat),
        SCMP_SYS(futex),
        SCMP_SYS(getpid),
        SCMP_SYS(getrandom),
        SCMP_SYS(getsockname),
        SCMP_SYS(getsockopt),
        SCMP_SYS(gettid),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(madvise),
        SCMP_SYS(mmap),
        SCMP_SYS(mprotect),
        SCMP_SYS(mremap),
        SCMP_SYS(munmap),
        SCMP_SYS(newfstatat),
        SCMP_SYS(openat2),
        SCMP_SYS(read),
        SCMP_SYS(recvfrom),
        SCMP_SYS(restart_syscall),
        SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(sendto),
        SCMP_SYS(setsockopt),
        SCMP_SYS(shutdown),
        SCMP_SYS(write),
        SCMP_SYS(writev),
};

static int add_rules(scmp_filter_ctx filter)
{
	static const scmp_datum_t kinds[] = {SOCK_STREAM, SOCK_DGRAM};
	const scmp_datum_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int result = 0;

	for (size_t i = 0; i < COUNT_OF(kinds) && result == 0; i++)
		result = seccomp_rule_add(
		        filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3, SCMP_A0(SCMP_CMP_EQ, AF_INET),
		        SCMP_A1(SCMP_CMP_MASKED_EQ, ~flags, kinds[i]), SCMP_A2(SCMP_CMP_EQ, 0));
	/* To abort. Its user has other processes. */
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
		                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	for (size_t i = 0; i < COUNT_OF(allowed) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	return result == 0 ? seccomp_load(filter) : result;
}

static int filter_calls(struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return FAIL(err, ERROR_SYSTEM, "make a system call filter");
	result = add_rules(filter);
	seccomp_release(filter);
	if (result == 0)
		return 0;
	errno = -result;
	return FAIL_ERRNO(err, "load the system call filter");
}

struct confined {
	const struct identity *identity;
	int rules_fd;
	pid_t parent;
};

/* The folder of rules is all files that there are. */
static int confine(const void *context, struct error *err)
{
	const struct confined *c = context;

	if (fchdir(c->rules_fd) < 0 || chroot(".") < 0)
		return FAIL_ERRNO(err, "enter the folder of rules");
	if (identity_become(c->identity, err) < 0)
		return -1;
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "tie to the supervisor");
	if (getppid() != c->parent)
		return FAIL(err, ERROR_UNAVAILABLE, "the supervisor has gone");
	/* A sanitizer has calls of its own. */
	return ATOLL_SANITIZED ? seccomp_confine(err) : filter_calls(err);
}

static int find_nameservers(const struct config *config, char out[EGRESS_NAMESERVERS_SIZE],
                            struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(RESOLV_CONF_MAX);

	if (file_read(AT_FDCWD, "/etc/resolv.conf", &text, err) < 0 &&
	    !config->network_nameservers[0])
		return -1;
	egress_nameservers(buf_span(&text), out);
	return 0;
}

int names_run(const struct daemon_options *o, const struct config *config, struct error *err)
{
	char nameservers[EGRESS_NAMESERVERS_SIZE];
	struct identity identity;
	const struct confined confined = {&identity, o->names_fds[NAMES_RULES], getppid()};
	const struct egress_options options = {
	        .http_fd = o->names_fds[NAMES_HTTP],
	        .tls_fd = o->names_fds[NAMES_TLS],
	        .dns_fd = o->names_fds[NAMES_DNS],
	        .rules_fd = o->names_fds[NAMES_RULES],
	        .subnet = config->network_subnet,
	        .allow = config->network_allow,
	        .nameservers =
	                config->network_nameservers[0] ? config->network_nameservers : nameservers,
	        .nameserver_port = NAMESERVER_PORT,
	        .confine = confine,
	        .context = &confined,
	};

	if (o->names_count != NAMES_FDS)
		return FAIL(err, ERROR_INVALID, "the role names is the supervisor's to start");
	if (identity_find(config->user, &identity, err) < 0 ||
	    find_nameservers(config, nameservers, err) < 0)
		return -1;
	return egress_run(&options, err);
}
