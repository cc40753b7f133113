/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/tls.h"

/* A peer that does not answer: 20 s of silence, then three questions. */
#define SILENT_S 20
#define ASK_EVERY_S 10
#define ASK_TIMES 3
#define UNHEARD_MS 45000

static void free_addresses(struct addrinfo **list)
{
	if (*list)
		freeaddrinfo(*list);
}

static void set_up(int fd)
{
	static const struct {
		int level, name, value;
	} settings[] = {
	        {IPPROTO_TCP, TCP_NODELAY, 1},         {SOL_SOCKET, SO_KEEPALIVE, 1},
	        {IPPROTO_TCP, TCP_KEEPIDLE, SILENT_S}, {IPPROTO_TCP, TCP_KEEPINTVL, ASK_EVERY_S},
	        {IPPROTO_TCP, TCP_KEEPCNT, ASK_TIMES}, {IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MS},
	};

	/* Without one of them an end is noticed later, that is all. */
	for (size_t i = 0; i < COUNT_OF(settings); i++)
		(void)setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value,
		                 sizeof(settings[i].value));
}

static int wait_for(int fd, short events, const struct http_dial *dial, struct error *err)
{
	int result = fd_wait(fd, events, dial->deadline, err);

	if (result == 0)
		return FAIL(err, ERROR_TIMEOUT, "'%s' does not answer", dial->host);
	return result < 0 ? -1 : 0;
}

static int connect_to(const struct addrinfo *address, const struct http_dial *dial, int *ret_fd,
                      struct error *err)
{
	AUTO_CLOSE int fd =
	        socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(int);
	int result = 0;

	if (fd < 0)
		return FAIL_ERRNO(err, "socket");
	set_up(fd);
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return FAIL_ERRNO(err, "connect to '%s'", dial->host);
		if (wait_for(fd, POLLOUT, dial, err) < 0)
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) == 0 && result != 0) {
			errno = result;
			return FAIL_ERRNO(err, "connect to '%s'", dial->host);
		}
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int connect_any(const struct http_dial *dial, int *ret_fd, struct error *err)
{
	const struct addrinfo hints = {
	        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	__attribute__((cleanup(free_addresses))) struct addrinfo *list = NULL;
	char port[8];
	int result;

	(void)snprintf(port, sizeof(port), "%u", dial->port);
	result = getaddrinfo(dial->host, port, &hints, &list);
	if (result != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "find '%s': %s", dial->host,
		            gai_strerror(result));
	result = FAIL(err, ERROR_UNAVAILABLE, "'%s' has no address", dial->host);
	for (const struct addrinfo *at = list; at && result < 0; at = at->ai_next)
		result = connect_to(at, dial, ret_fd, err);
	return result;
}

static int shake_hands(struct tls *tls, int fd, const struct http_dial *dial, struct error *err)
{
	const char *refusal;

	for (;;) {
		switch (tls_shake_hands(tls)) {
		case TLS_DONE:
			return 0;
		case TLS_WANTS_READ:
			if (wait_for(fd, POLLIN, dial, err) < 0)
				return -1;
			break;
		case TLS_WANTS_WRITE:
			if (wait_for(fd, POLLOUT, dial, err) < 0)
				return -1;
			break;
		case TLS_FAILED:
			refusal = tls_refusal(tls);
			if (refusal[0])
				return FAIL(err, ERROR_FORBIDDEN, "the certificate of '%s': %s",
				            dial->host, refusal);
			return FAIL(err, ERROR_UNAVAILABLE, "'%s' does not speak TLS as we do",
			            dial->host);
		}
	}
}

int http_dial(const struct http_dial *dial, int *ret_fd, struct tls **ret_tls, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct tls *tls = NULL;

	if (connect_any(dial, &fd, err) < 0)
		return -1;
	if (dial->tls && (tls_connect(dial->tls, fd, dial->host, &tls, err) < 0 ||
	                  shake_hands(tls, fd, dial, err) < 0)) {
		tls_free(tls);
		return -1;
	}
	*ret_fd = TAKE_FD(fd);
	*ret_tls = tls;
	return 0;
}
