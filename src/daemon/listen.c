/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"

#define WAITING_MAX 4096
#define TAKEN_MS 2000
#define LOOK_MS 20

/* Waits for an address in use: after a kill, the last process of the old server may still hold
 * it. */
static int start_listening(int fd, const struct sockaddr *address, socklen_t size,
                           struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
	bool is_bound = false;

	for (int waited = 0;; waited += LOOK_MS) {
		is_bound = is_bound || bind(fd, address, size) == 0;
		if (is_bound && listen(fd, WAITING_MAX) == 0)
			return 0;
		if (errno != EADDRINUSE || waited >= TAKEN_MS)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return FAIL_ERRNO(err, "listen");
}

static void hint_at_cure(const struct sockaddr *address, const char *port, struct error *err)
{
	if (err->sys_errno == EADDRINUSE)
		error_hint(err,
		           "another program has port %s ('ss -ltnp sport = :%s' shows it): end it, "
		           "or give the server another port with --listen or --tls-listen",
		           port, port);
	else if (err->sys_errno == EADDRNOTAVAIL)
		error_hint(err,
		           "this machine does not have that address; %s stands for all that it has",
		           address->sa_family == AF_INET6 ? "[::]" : "0.0.0.0");
	else if (err->sys_errno == EACCES)
		error_hint(err, "a port below 1024 needs root; 7777 does not");
}

static int split_address(const char *address, char host[256], char port[8], struct error *err)
{
	const char *colon = strrchr(address, ':');
	struct span name = {address, colon ? (size_t)(colon - address) : 0};
	int64_t number;

	if (name.size > 2 && name.data[0] == '[' && name.data[name.size - 1] == ']')
		name = (struct span){name.data + 1, name.size - 2};
	if (!colon || name.size == 0 || name.size > 255 ||
	    span_parse_whole(span_of(colon + 1), 0, 65535, &number, &(struct error){0}) < 0) {
		(void)FAIL(err, ERROR_INVALID, "'%s' is not an address", address);
		return FAIL_HINT(err, "such as 127.0.0.1:7777 or unix:/run/atoll.sock");
	}
	(void)snprintf(host, 256, "%.*s", (int)name.size, name.data);
	(void)snprintf(port, 8, "%lld", (long long)number);
	return 0;
}

static int listen_tcp(const char *address, int *ret_fd, struct error *err)
{
	const struct addrinfo hints = {
	        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	        .ai_socktype = SOCK_STREAM,
	};
	AUTO_CLOSE int fd = -1;
	struct addrinfo *found;
	char host[256], port[8];
	int result, yes = 1;

	if (split_address(address, host, port, err) < 0)
		return -1;
	result = getaddrinfo(host, port, &hints, &found);
	if (result != 0)
		return FAIL(err, ERROR_INVALID, "'%s': %s", host, gai_strerror(result));
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		result = FAIL_ERRNO(err, "make a socket");
	else
		result = start_listening(fd, found->ai_addr, found->ai_addrlen, err);
	if (result < 0)
		hint_at_cure(found->ai_addr, port, err);
	freeaddrinfo(found);
	if (result < 0)
		return FAIL_CONTEXT(err, "%s", address);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int listen_open_unix(int folder, const char *name, int *ret_fd, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	/* The folder's own path may be too long for a socket address. */
	if (snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
	             name) >= (int)sizeof(address.sun_path))
		return FAIL(err, ERROR_INVALID, "'%s' is too long for a socket", name);
	(void)unlinkat(folder, name, 0);
	if (start_listening(fd, (const struct sockaddr *)&address, sizeof(address), err) < 0 ||
	    (fchmodat(folder, name, 0600, 0) < 0 && FAIL_ERRNO(err, "chmod") < 0))
		return FAIL_CONTEXT(err, "socket '%s'", name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int listen_unix_path(const char *path, int *ret_fd, struct error *err)
{
	const char *name = path_last(path);
	AUTO_CLOSE int folder = -1;
	char parent[4096];

	if (path[0] != '/' || strlen(path) >= sizeof(parent))
		return FAIL(err, ERROR_INVALID, "'unix:%s' is not an absolute path", path);
	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
	folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", parent);
	return listen_open_unix(folder, name, ret_fd, err);
}

int listen_open(const char *address, int *ret_fd, struct error *err)
{
	if (strncmp(address, "unix:", 5) == 0)
		return listen_unix_path(address + 5, ret_fd, err);
	return listen_tcp(address, ret_fd, err);
}

void listen_describe(int fd, const char *scheme, struct buf *out)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(address);
	char host[64], port[8];

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
	    address.ss_family == AF_UNIX ||
	    getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		buf_add_text(out, "unix");
		return;
	}
	buf_addf(out, address.ss_family == AF_INET6 ? "%s://[%s]:%s" : "%s://%s:%s", scheme, host,
	         port);
}
