/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cancel.h"
#include "base/fd.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_dial.h"

static bool option_is(int fd, int name, int wanted)
{
	int value;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 && value == wanted;
}

/* Closes any further descriptors of the message. */
static int check_socket(int fd, uint32_t version, struct error *err)
{
	if (option_is(fd, SO_DOMAIN, version == 4 ? AF_INET : AF_INET6) &&
	    option_is(fd, SO_TYPE, SOCK_STREAM) && option_is(fd, SO_PROTOCOL, IPPROTO_TCP) &&
	    option_is(fd, SO_ACCEPTCONN, 0))
		return 0;
	return FAIL(err, ERROR_SYSTEM, "the agent passed something that is no TCP connection");
}

static int await_connection(int fd, const struct dial *dial, struct error *err)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(errno), peer_size = sizeof(peer);
	int ready, failure = 0;

	ready = cancel_wait(dial->cancel, fd, POLLOUT, dial->deadline, err);
	if (ready < 0)
		return -1;
	if (ready == 0)
		return FAIL(err, ERROR_TIMEOUT, "port %u of sandbox '%s' does not accept",
		            dial->port, dial->id);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
		return FAIL_ERRNO(err, "look at a connection");
	errno = failure;
	if (failure || getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0)
		return FAIL_ERRNO(err, "port %u of sandbox '%s'", dial->port, dial->id);
	return 0;
}

static int prepare_socket(int fd, const struct dial *dial, uint32_t version, struct error *err)
{
	static const struct linger none = {.l_onoff = 0};
	int on = 1;

	if (check_socket(fd, version, err) < 0 || fd_set_blocking(fd, false, err) < 0 ||
	    await_connection(fd, dial, err) < 0)
		return -1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) < 0)
		return FAIL_ERRNO(err, "prepare a connection");
	return 0;
}

/* This process made the connection to the agent, by TCP of IPv4 or a unix socket, and the agent has
 * answered that the server accepted. */
static int prepare_carrier(int fd, const struct dial *dial, struct error *err)
{
	return option_is(fd, SO_DOMAIN, AF_UNIX) ? fd_set_blocking(fd, false, err)
	                                         : prepare_socket(fd, dial, 4, err);
}

/* DONE with one descriptor, or on the connection that carries the bytes. */
static int take_socket(struct agent_reader *r, bool carries, int *ret_fd, struct error *err)
{
	int status = agent_reader_next(r, err);

	/* The agent ends a connection that was to carry bytes: it serves no further request. */
	if (carries) {
		AUTO_CLOSE int fd = agent_reader_take_fd(r);

		if (status < 0)
			return -1;
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (status < 0)
		return -1;
	if (r->type != AGENT_DONE || r->passed_fd < 0)
		return FAIL(err, ERROR_SYSTEM, "the agent answered message %u without a socket",
		            r->type);
	*ret_fd = TAKE_FD(r->passed_fd);
	return 0;
}

static int dial_version(struct provider *p, const struct dial *dial, uint32_t version, int *ret_fd,
                        struct error *err)
{
	bool carries = provider_ops_of(p)->compute->carries_dials;
	const struct agent_dial message = {.port = dial->port,
	                                   .version = version + (carries ? AGENT_DIAL_CARRIES : 0)};
	const struct compute_request request = {AGENT_DIAL, agent_dial_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = dial->deadline, .cancel = dial->cancel};
	AUTO(agent_reader_done) struct agent_reader r;
	int fd = -1;

	agent_reader_init(&r, p, dial->id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0 || take_socket(&r, carries, &fd, err) < 0)
		return -1;
	if ((carries ? prepare_carrier(fd, dial, err) : prepare_socket(fd, dial, version, err)) <
	    0) {
		socket_drop(&fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

/* The agent's reply must agree, too. */
static bool is_refusal(const struct error *err)
{
	return err->sys_errno == ECONNREFUSED || err->sys_errno == EADDRNOTAVAIL ||
	       err->sys_errno == EAFNOSUPPORT;
}

int compute_dial(struct provider *p, const struct dial *dial, int *ret_fd, struct error *err)
{
	if (provider_require(p, PROVIDER_CAN_DIAL, err) < 0)
		return -1;
	for (uint32_t version = 4; version <= 6; version += 2) {
		if (dial_version(p, dial, version, ret_fd, err) == 0)
			return 0;
		if (!is_refusal(err))
			return -1;
	}
	(void)FAIL(err, ERROR_UNAVAILABLE, "nothing listens on port %u of sandbox '%s'", dial->port,
	           dial->id);
	err->sys_errno = ECONNREFUSED;
	return FAIL_HINT(err, "start a server there, on 127.0.0.1, 0.0.0.0 or ::");
}
