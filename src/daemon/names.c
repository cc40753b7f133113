/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/names.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/identity.h"
#include "daemon/seccomp.h"
#include "egress/egress.h"
#include "sandbox/upstream.h"

#define GATEWAY 0xa9fe0101u /* 169.254.1.1: NETWORK_GATEWAY of broker/network/network.h */
#define WAITING_MAX 4096
#define NAMESERVER_PORT 53
#define RESOLV_CONF_MAX (64 * 1024)
#define PORTS_FILE "names-ports"
#define PORTS_SIZE 64
#define PORT_MIN 1024

static int bind_port(int fd, unsigned port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
	                                    .sin_port = htons((uint16_t)port),
	                                    .sin_addr.s_addr = htonl(GATEWAY)};

	return bind(fd, (const struct sockaddr *)&address, sizeof(address));
}

/* `*port` is the wanted port, 0 = any; another one is chosen if it is in use. */
static int open_socket(int kind, int *ret_fd, unsigned *port, struct error *err)
{
	AUTO_CLOSE int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in address = {.sin_family = AF_UNSPEC};
	socklen_t size = sizeof(address);
	const int yes = 1;

	/* IP_FREEBIND, because no link has the address before a sandbox with such rules exists;
	 * SO_REUSEADDR, because connections of an earlier gateway may be closing. */
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &yes, sizeof(yes)) < 0 ||
	    (kind == SOCK_STREAM &&
	     setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0) ||
	    (bind_port(fd, *port) < 0 && (*port == 0 || bind_port(fd, 0) < 0)) ||
	    (kind == SOCK_STREAM && listen(fd, WAITING_MAX) < 0) ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return FAIL_ERRNO(err, "open a socket of the gateway for names");
	*port = ntohs(address.sin_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Reads the ports of the previous supervisor. Rules of surviving sandboxes lead there until they
 * are written again; another program on these ports would get their connections. */
static void read_ports(int run_fd, unsigned ports[NAMES_RULES])
{
	AUTO(buf_done) struct buf text = BUF(PORTS_SIZE);
	struct error ignored = {0};
	struct span rest, word;
	int64_t port;

	if (file_read(run_fd, PORTS_FILE, &text, &ignored) < 0)
		return;
	rest = buf_span(&text);
	for (unsigned i = 0; i < NAMES_RULES; i++) {
		(void)span_split(&rest, ' ', &word);
		if (span_parse_whole(word, PORT_MIN, UINT16_MAX, &port, &ignored) == 0)
			ports[i] = (unsigned)port;
	}
}

static int keep_ports(int run_fd, const unsigned ports[NAMES_RULES], struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(PORTS_SIZE);

	buf_addf(&text, "%u %u %u", ports[NAMES_HTTP], ports[NAMES_TLS], ports[NAMES_DNS]);
	return file_write(run_fd, PORTS_FILE, buf_span(&text), 0600, err);
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

int names_open(struct names_process *ret, int run_fd, gid_t group, struct error *err)
{
	struct names_process n = NAMES_CLOSED;
	unsigned before[NAMES_RULES];

	read_ports(run_fd, n.ports);
	memcpy(before, n.ports, sizeof(before));
	if (open_rules(run_fd, group, &n.fds[NAMES_RULES], err) == 0 &&
	    open_socket(SOCK_STREAM, &n.fds[NAMES_HTTP], &n.ports[NAMES_HTTP], err) == 0 &&
	    open_socket(SOCK_STREAM, &n.fds[NAMES_TLS], &n.ports[NAMES_TLS], err) == 0 &&
	    open_socket(SOCK_DGRAM, &n.fds[NAMES_DNS], &n.ports[NAMES_DNS], err) == 0 &&
	    (memcmp(before, n.ports, sizeof(before)) == 0 ||
	     keep_ports(run_fd, n.ports, err) == 0)) {
		*ret = n;
		return 0;
	}
	names_close(&n);
	return -1;
}

void names_close(struct names_process *n)
{
	for (unsigned i = 0; i < NAMES_FDS; i++)
		auto_close(&n->fds[i]);
	*n = NAMES_CLOSED;
}

struct confined {
	const struct identity *identity;
	int rules_fd, handover_fd, sources_fd;
	pid_t parent;
};

/* The folder of rules becomes the process's whole filesystem. */
static int confine_names(const void *context, struct error *err)
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
	/* A sanitizer needs system calls of its own. */
	return ATOLL_SANITIZED ? seccomp_confine(err)
	                       : names_filter(c->handover_fd, c->sources_fd, err);
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

int names_login_open(const struct config *config, int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(UPSTREAM_LOGIN_MAX + 2);
	const char *path = config->network_proxy_login_file;
	AUTO_CLOSE int fd = -1;
	struct span login;

	if (!*path)
		return 0;
	if (file_read(AT_FDCWD, path, &text, err) < 0 ||
	    upstream_login_parse(buf_span(&text), &login, err) < 0)
		return FAIL_CONTEXT(err, "network_proxy_login_file '%.150s'", path);
	fd = memfd_create("login", MFD_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "make a file for the login at the proxy");
	if (fd_write_all(fd, login.data, login.size, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* From the start of the file: an earlier gateway has read it, too. */
static int read_login(int fd, struct buf *text, struct span *ret, struct error *err)
{
	char path[32];

	if (fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return file_read(AT_FDCWD, path, text, err) < 0
	               ? -1
	               : upstream_login_parse(buf_span(text), ret, err);
}

int names_run(const struct daemon_options *o, const struct config *config, struct error *err)
{
	AUTO(buf_done) struct buf login = BUF(UPSTREAM_LOGIN_MAX + 2);
	char nameservers[EGRESS_NAMESERVERS_SIZE];
	struct identity identity;
	struct confined confined = {.identity = &identity,
	                            .rules_fd = o->names_fds[NAMES_RULES],
	                            .handover_fd = o->handover_fd,
	                            .parent = getppid()};
	struct egress_options options = {
	        .http_fd = o->names_fds[NAMES_HTTP],
	        .tls_fd = o->names_fds[NAMES_TLS],
	        .dns_fd = o->names_fds[NAMES_DNS],
	        .rules_fd = o->names_fds[NAMES_RULES],
	        .handover_fd = o->handover_fd,
	        .reports_fd = o->reports_fd,
	        .subnet = config->network_subnet,
	        .allow = config->network_allow,
	        .subnet6 = strcmp(config->network_ipv6, "auto") == 0 ? config->network_ipv6_subnet
	                                                             : NULL,
	        .nameservers =
	                config->network_nameservers[0] ? config->network_nameservers : nameservers,
	        .nameserver_port = NAMESERVER_PORT,
	        .confine = confine_names,
	        .context = &confined,
	};

	if (o->names_count != NAMES_FDS)
		return FAIL(err, ERROR_INVALID, "only the supervisor starts the role names");
	if (identity_find(config->user, &identity, err) < 0 ||
	    names_sources_start(&identity, &options.sources_fd, err) < 0 ||
	    find_nameservers(config, nameservers, err) < 0 ||
	    upstream_proxy_parse(config->network_proxy, &options.proxy, err) < 0 ||
	    read_login(o->login_fd, &login, &options.login, err) < 0)
		return -1;
	confined.sources_fd = options.sources_fd;
	return egress_run(&options, err);
}
