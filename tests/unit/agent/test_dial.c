/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
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

TEST(a_port_or_version_that_does_not_exist_is_refused)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int link = box_connect(&b);
	static const struct agent_dial wrong[] = {{0, 4}, {65536, 4}, {80, 5}, {80, 0}};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		say(&b, link, AGENT_DIAL, agent_dial_shape, &wrong[i]);
		assert_int_equal(hear_failed(&b, link).code, ERROR_INVALID);
	}
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_socket_that_is_connected_inside_comes_out),
	           CASE(a_port_or_version_that_does_not_exist_is_refused));
}
