/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "provider/compute.h"
#include "provider/dial.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/wire.h"

/* A provider whose agent has answered before anybody asks: with these descriptors, if any. */
struct provider {
	const struct provider_ops *ops;
	struct wire_fds fds;
	unsigned answers, connects;
};

static void send_answer(int socket, const struct wire_fds *fds)
{
	AUTO(buf_done) struct buf frame = BUF(64);
	struct error err = {0};

	assert_int_equal(
	        wire_encode(&frame, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, &err),
	        0);
	assert_int_equal(
	        wire_send_packet(socket, buf_span(&frame), fds, deadline_after(1000), &err), 0);
}

static int script_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                          struct error *err)
{
	int ends[2];

	(void)id;
	(void)deadline;
	(void)err;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	p->connects++;
	if (p->answers > 0) {
		send_answer(ends[1], &p->fds);
		p->answers--;
	}
	(void)shutdown(ends[1], SHUT_WR);
	/* Its other end goes with the test. */
	*ret_fd = ends[0];
	return 0;
}

static const struct compute_ops script_compute = {.connect = script_connect};
static const struct provider_ops script_ops = {
        .name = "script", .abilities = PROVIDER_CAN_DIAL, .compute = &script_compute};
static const struct compute_ops carrying_compute = {.connect = script_connect,
                                                    .carries_dials = true};
static const struct provider_ops carrying_ops = {
        .name = "carrying", .abilities = PROVIDER_CAN_DIAL, .compute = &carrying_compute};
static const struct provider_ops deaf_ops = {.name = "deaf", .compute = &script_compute};

static int dial(struct provider *p, int *ret_fd, struct error *err)
{
	const struct dial request = {.id = "box", .port = 8080, .deadline = deadline_after(2000)};

	return compute_dial(p, &request, ret_fd, err);
}

static int listener(struct sockaddr_in *ret_address)
{
	socklen_t size = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address =
	        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	assert_int_equal(bind(fd, (struct sockaddr *)ret_address, size), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret_address, &size), 0);
	return fd;
}

static int connected_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	            errno == EINPROGRESS);
	return fd;
}

TEST(a_connection_is_taken_and_does_not_block)
{
	struct sockaddr_in address;
	AUTO_CLOSE UNUSED int server = listener(&address);
	AUTO_CLOSE int inside = connected_to(&address);
	struct provider p = {.ops = &script_ops, .fds = {{inside}, 1}, .answers = 1};
	struct linger linger = {.l_onoff = 1};
	socklen_t size = sizeof(linger);
	struct error err = {0};
	int fd = -1;

	assert_int_equal(dial(&p, &fd, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size), 0);
	assert_int_equal(linger.l_onoff, 0);
	socket_drop(&fd);
	assert_int_equal(fd, -1);
}

TEST(a_port_where_nobody_listens_says_so)
{
	struct sockaddr_in address;
	int closed = listener(&address);
	struct provider p = {.ops = &script_ops, .answers = 1};
	struct error err = {0};
	int fd = -1;

	close(closed);
	AUTO_CLOSE int inside = connected_to(&address);
	p.fds = (struct wire_fds){{inside}, 1};
	assert_int_equal(dial(&p, &fd, &err), -1);
	/* IPv6 was tried as well, for which this agent had no answer. */
	assert_int_equal(p.connects, 2);
	assert_int_equal(fd, -1);
}

static void refuses(int passed)
{
	struct provider p = {.ops = &script_ops, .fds = {{passed}, 1}, .answers = 1};
	struct error err = {0};
	int fd = -1;

	assert_int_equal(dial(&p, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(fd, -1);
}

TEST(what_is_no_tcp_connection_is_refused)
{
	struct sockaddr_in address;
	AUTO_CLOSE int listening = listener(&address);
	AUTO_CLOSE int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	AUTO_CLOSE int local = socket(AF_UNIX, SOCK_STREAM, 0);
	AUTO_CLOSE int six = socket(AF_INET6, SOCK_STREAM, 0);
	AUTO_CLOSE int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_CLOSE int path = open("/", O_PATH | O_CLOEXEC);

	refuses(listening);
	refuses(datagrams);
	refuses(local);
	refuses(six);
	refuses(file);
	refuses(path);
}

TEST(a_socket_that_is_not_connected_is_refused)
{
	AUTO_CLOSE int idle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct provider p = {.ops = &script_ops, .fds = {{idle}, 1}, .answers = 1};
	struct error err = {0};
	int fd = -1;

	assert_int_equal(dial(&p, &fd, &err), -1);
	assert_int_equal(err.sys_errno, ENOTCONN);
}

TEST(no_descriptor_and_more_than_one_are_refused)
{
	struct sockaddr_in address;
	AUTO_CLOSE UNUSED int server = listener(&address);
	AUTO_CLOSE int one = connected_to(&address);
	AUTO_CLOSE int two = connected_to(&address);
	struct provider none = {.ops = &script_ops, .answers = 1};
	struct provider both = {.ops = &script_ops, .fds = {{one, two}, 2}, .answers = 1};
	struct error err = {0};
	int fd = -1;

	assert_int_equal(dial(&none, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(dial(&both, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(an_agent_that_carries_gives_its_own_connection)
{
	struct sockaddr_in address;
	AUTO_CLOSE UNUSED int server = listener(&address);
	AUTO_CLOSE int passed = connected_to(&address);
	struct provider p = {.ops = &carrying_ops, .fds = {{passed}, 1}, .answers = 1};
	int domain = 0;
	socklen_t size = sizeof(domain);
	struct error err = {0};
	char byte;
	int fd = -1;

	assert_int_equal(dial(&p, &fd, &err), 0);
	assert_int_equal(p.connects, 1);
	/* Not the descriptor that came with the answer. */
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size), 0);
	assert_int_equal(domain, AF_UNIX);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	socket_drop(&fd);
}

TEST(a_provider_that_cannot_is_named)
{
	struct provider p = {.ops = &deaf_ops};
	struct error err = {0};
	int fd = -1;

	assert_int_equal(dial(&p, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "deaf"));
	assert_int_equal(p.connects, 0);
}

int main(void)
{
	return RUN(CASE(a_connection_is_taken_and_does_not_block),
	           CASE(a_port_where_nobody_listens_says_so),
	           CASE(what_is_no_tcp_connection_is_refused),
	           CASE(a_socket_that_is_not_connected_is_refused),
	           CASE(no_descriptor_and_more_than_one_are_refused),
	           CASE(an_agent_that_carries_gives_its_own_connection),
	           CASE(a_provider_that_cannot_is_named));
}
