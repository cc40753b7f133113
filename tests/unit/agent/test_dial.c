/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/agent_dial.h"

/* On a free port of 127.0.0.1. */
static int listen_somewhere(uint32_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int dial_server(struct box *b, int link, uint32_t port)
{
	const struct agent_dial message = {.port = port, .version = 4};
	struct error err = {0};
	uint16_t type = 0;
	int fd = -1;

	say(b, link, AGENT_DIAL, agent_dial_shape, &message);
	assert_int_equal(
	        wire_receive_with_fd(
	                &(struct wire_peer){.fd = link, .deadline = deadline_after(PATIENCE_MS)},
	                &type, &b->payload, &fd, &err),
	        0);
	assert_int_equal(type, AGENT_DONE);
	assert_true(fd >= 0);
	return fd;
}

TEST(a_socket_that_is_connected_inside_comes_out)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int link = box_connect(&b);
	uint32_t port;
	AUTO_CLOSE int listener = listen_somewhere(&port);
	char byte = 0;

	/* Several times on one connection, which stays good for other requests. */
	for (int i = 0; i < 3; i++) {
		AUTO_CLOSE int fd = dial_server(&b, link, port);
		AUTO_CLOSE int server = accept(listener, NULL, NULL);

		assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		assert_int_equal(write(server, "x", 1), 1);
		assert_int_equal(poll(&(struct pollfd){fd, POLLIN, 0}, 1, PATIENCE_MS), 1);
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_int_equal(byte, 'x');
	}
	say(&b, link, AGENT_PING, NULL, NULL);
	assert_int_equal(hear_any(&b, link), AGENT_PONG);
	box_end(&b);
}

static int await_byte(int fd, char *ret)
{
	assert_int_equal(poll(&(struct pollfd){fd, POLLIN, 0}, 1, PATIENCE_MS), 1);
	return (int)read(fd, ret, 1);
}

TEST(a_connection_carries_the_bytes_of_a_server_both_ways)
{
	struct box b = box_start(BOX_HOST);
	uint32_t port;
	AUTO_CLOSE int listener = listen_somewhere(&port);
	const struct agent_dial dial = {port, 4 + AGENT_DIAL_CARRIES};
	AUTO_CLOSE int link = box_connect(&b);
	char byte;

	say(&b, link, AGENT_DIAL, agent_dial_shape, &dial);
	assert_int_equal(hear_any(&b, link), AGENT_DONE);
	AUTO_CLOSE int server = accept(listener, NULL, NULL);
	assert_int_equal(write(link, "a", 1), 1);
	assert_int_equal(await_byte(server, &byte), 1);
	assert_int_equal(byte, 'a');
	assert_int_equal(write(server, "b", 1), 1);
	assert_int_equal(await_byte(link, &byte), 1);
	assert_int_equal(byte, 'b');
	/* One direction ends, the other goes on. */
	assert_int_equal(shutdown(link, SHUT_WR), 0);
	assert_int_equal(await_byte(server, &byte), 0);
	assert_int_equal(write(server, "c", 1), 1);
	assert_int_equal(await_byte(link, &byte), 1);
	fd_forget(&server);
	assert_int_equal(await_byte(link, &byte), 0);
	box_end(&b);
}

TEST(a_side_that_does_not_read_stops_the_other_and_loses_nothing)
{
	enum { TOTAL = 16 << 20, PIECE = 65536 };
	static char piece[PIECE];
	struct box b = box_start(BOX_HOST);
	uint32_t port;
	AUTO_CLOSE int listener = listen_somewhere(&port);
	const struct agent_dial dial = {port, 4 + AGENT_DIAL_CARRIES};
	AUTO_CLOSE int link = box_connect(&b);
	size_t sent = 0, got = 0;

	say(&b, link, AGENT_DIAL, agent_dial_shape, &dial);
	assert_int_equal(hear_any(&b, link), AGENT_DONE);
	AUTO_CLOSE int server = accept(listener, NULL, NULL);
	/* Until the agent and the sockets are full. */
	while (sent < TOTAL && poll(&(struct pollfd){server, POLLOUT, 0}, 1, 300) == 1)
		sent += (size_t)send(server, piece, sizeof(piece), MSG_DONTWAIT);
	assert_true(sent > 0 && sent < TOTAL);
	fd_forget(&server);
	for (ssize_t more; (more = recv(link, piece, sizeof(piece), 0)) > 0;)
		got += (size_t)more;
	assert_int_equal(got, sent);
	box_end(&b);
}

TEST(a_carried_connection_to_nothing_is_refused)
{
	struct box b = box_start(BOX_HOST);
	uint32_t port;
	int listener = listen_somewhere(&port);
	const struct agent_dial dial = {port, 4 + AGENT_DIAL_CARRIES};
	AUTO_CLOSE int link = box_connect(&b);

	close(listener);
	say(&b, link, AGENT_DIAL, agent_dial_shape, &dial);
	assert_int_equal(hear_failed(&b, link).sys_errno, ECONNREFUSED);
	box_end(&b);
}

TEST(a_port_or_version_that_does_not_exist_is_refused)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int link = box_connect(&b);
	static const struct agent_dial wrong[] = {{0, 4},  {65536, 4}, {80, 5},
	                                          {80, 0}, {80, 16},   {80, 21}};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		say(&b, link, AGENT_DIAL, agent_dial_shape, &wrong[i]);
		assert_int_equal(hear_failed(&b, link).code, ERROR_INVALID);
	}
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_socket_that_is_connected_inside_comes_out),
	           CASE(a_connection_carries_the_bytes_of_a_server_both_ways),
	           CASE(a_side_that_does_not_read_stops_the_other_and_loses_nothing),
	           CASE(a_carried_connection_to_nothing_is_refused),
	           CASE(a_port_or_version_that_does_not_exist_is_refused));
}
