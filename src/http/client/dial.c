/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/client/host_lookup.h"
#include "http/tls/tls.h"

/* Detects a dead peer: 20 s of silence, then three probes. */
#define SILENT_S 20
#define ASK_EVERY_S 10
#define ASK_TIMES 3
#define UNHEARD_MS 45000

static void set_socket_options(int fd)
{
	static const struct {
		int level, name, value;
	} settings[] = {
	        {IPPROTO_TCP, TCP_NODELAY, 1},         {SOL_SOCKET, SO_KEEPALIVE, 1},
	        {IPPROTO_TCP, TCP_KEEPIDLE, SILENT_S}, {IPPROTO_TCP, TCP_KEEPINTVL, ASK_EVERY_S},
	        {IPPROTO_TCP, TCP_KEEPCNT, ASK_TIMES}, {IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MS},
	};

	/* Errors are ignored: without an option a dead peer is detected later. */
	for (size_t i = 0; i < COUNT_OF(settings); i++)
		(void)setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value,
		                 sizeof(settings[i].value));
}

static int wait_for_peer(int fd, short events, const struct http_dial *dial, struct error *err)
{
	int result = fd_wait(fd, events, dial->deadline, err);

	if (result == 0)
		return FAIL(err, ERROR_TIMEOUT, "'%s' does not answer", dial->host);
	return result < 0 ? -1 : 0;
}

static void set_port(struct host_address *address, uint16_t port)
{
	if (address->at.ss_family == AF_INET)
		((struct sockaddr_in *)&address->at)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)&address->at)->sin6_port = htons(port);
}

static int connect_socket(const struct host_address *address, const struct http_dial *dial,
                          int *ret_fd, struct error *err)
{
	struct host_address to = *address;
	AUTO_CLOSE int fd = socket(to.at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(int);
	int result = 0;

	if (fd < 0)
		return FAIL_ERRNO(err, "socket");
	set_socket_options(fd);
	set_port(&to, dial->port);
	if (connect(fd, (const struct sockaddr *)&to.at, to.size) < 0) {
		if (errno != EINPROGRESS)
			return FAIL_ERRNO(err, "connect to '%s'", dial->host);
		if (wait_for_peer(fd, POLLOUT, dial, err) < 0)
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) == 0 && result != 0) {
			errno = result;
			return FAIL_ERRNO(err, "connect to '%s'", dial->host);
		}
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int shake_hands(struct tls *tls, int fd, const struct http_dial *dial, struct error *err)
{
	const char *refusal;

	for (;;) {
		switch (tls_shake_hands(tls)) {
		case TLS_DONE:
			return 0;
		case TLS_WANTS_READ:
			if (wait_for_peer(fd, POLLIN, dial, err) < 0)
				return -1;
			break;
		case TLS_WANTS_WRITE:
			if (wait_for_peer(fd, POLLOUT, dial, err) < 0)
				return -1;
			break;
		case TLS_WANTS_CHOICE: /* of a server alone */
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

static int dial_address(const struct host_address *address, const struct http_dial *dial,
                        int *ret_fd, struct tls **ret_tls, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct tls *tls = NULL;

	if (connect_socket(address, dial, &fd, err) < 0)
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

int http_dial(const struct http_dial *dial, int *ret_fd, struct tls **ret_tls, struct error *err)
{
	struct http_dial one = *dial;
	struct host_addresses found;
	int64_t now;

	if (host_lookup_find(dial->names, dial->host, dial->deadline, &found, err) < 0)
		return -1;
	for (unsigned i = 0; i < found.count; i++) {
		now = clock_monotonic_ms();
		one.deadline = now + (dial->deadline - now) / (found.count - i);
		if (dial_address(&found.items[i], &one, ret_fd, ret_tls, err) < 0)
			continue;
		if (i > 0)
			host_lookup_prefer(dial->names, dial->host, &found.items[i]);
		return 0;
	}
	return -1;
}
