/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "relay_fixture.h"
#include "unit.h"

static struct answer answer;
static const struct span none;

#define UPGRADE                                                                                    \
	"GET /socket HTTP/1.1\r\n" HOST "Connection: keep-alive, Upgrade\r\n"                      \
	"Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"                                      \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

static int open_socket(void)
{
	int fd = ask(UPGRADE);

	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 101);
	assert_true(answer_has(&answer, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
	assert_true(answer_has(&answer, "Sec-WebSocket-Protocol: test"));
	assert_true(answer_has(&answer, "Upgrade: websocket"));
	return fd;
}

/* Frames whose mask is zero, so that the payload is legible. */
#define MASKED(first, size) first size "\0\0\0\0"

TEST(messages_go_both_ways)
{
	char room[16];
	int fd;

	open_all(NULL);
	fd = open_socket();
	client_send_bytes(fd, MASKED("\x81", "\x82") "hi", 8);
	client_receive_bytes(await_upstream(), room, 2);
	assert_memory_equal(room, "hi", 2);
	send_frame(FRAME_DATA, SPAN("\x00\x01"));
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x82\x02\x00\x01", 4);
	send_frame(FRAME_TEXT, SPAN("ok"));
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x81\x02ok", 4);
	client_send_bytes(fd, MASKED("\x89", "\x81") "p", 7);
	client_receive_bytes(fd, room, 3);
	assert_memory_equal(room, "\x8a\x01p", 3);
	send_frame(FRAME_END, none);
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x88\x02\x03\xe8", 4);
	assert_true(client_is_closed(fd));
	assert_true(await_release());
	close_all(fd);
}

TEST(frames_may_come_with_the_upgrade)
{
	static const char early[] = UPGRADE MASKED("\x81", "\x82") "hi";
	char room[2];
	int fd;

	open_all(NULL);
	fd = client_connect(&shared.fixture);
	client_send_bytes(fd, early, sizeof(early) - 1);
	client_receive_head(fd, &answer);
	client_receive_bytes(await_upstream(), room, 2);
	assert_memory_equal(room, "hi", 2);
	close_all(fd);
}

TEST(a_client_may_close_its_websocket_or_break_it)
{
	static const struct {
		const char *frame;
		size_t size;
		int code;
		bool last;
	} cases[] = {
	        {MASKED("\x88", "\x82") "\x03\xe8", 8, 1000, true},
	        {MASKED("\x81", "\x81") "\xff", 7, 1007, false},
	        {"\x81\x01x", 3, 1002, false},
	        {MASKED("\x82", "\xff\0\0\0\0\0\x10\0\x01") "x", 15, 1009, false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		unsigned char head[4];
		int fd;

		open_all(NULL);
		fd = open_socket();
		client_send_bytes(fd, cases[i].frame, cases[i].size);
		client_receive_bytes(fd, head, 4);
		assert_int_equal(head[0], 0x88);
		assert_int_equal(head[2] << 8 | head[3], cases[i].code);
		assert_false(await_release());
		assert_int_equal(shared.client_last, cases[i].last);
		close_all(fd);
	}
}

TEST(a_failed_websocket_says_why)
{
	char room[64] = "";
	int fd;

	open_all(NULL);
	fd = open_socket();
	send_frame(FRAME_UNKNOWN, none);
	client_receive_bytes(fd, room, 4 + strlen("an unknown frame"));
	assert_memory_equal(room,
	                    "\x88\x12\x03\xf3"
	                    "an unknown frame",
	                    20);
	assert_true(client_is_closed(fd));
	assert_false(await_release());
	close_all(fd);
}

TEST(requests_that_are_no_upgrade_are_refused)
{
	static const char *const requests[] = {
	        "GET /socket HTTP/1.1\r\n" HOST "\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	        "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		int fd;

		open_all(NULL);
		fd = ask(requests[i]);
		client_receive(fd, &answer);
		assert_int_equal(answer.status, 400);
		assert_false(await_release());
		close_all(fd);
	}
}

int main(void)
{
	return RUN(CASE(messages_go_both_ways), CASE(frames_may_come_with_the_upgrade),
	           CASE(a_client_may_close_its_websocket_or_break_it),
	           CASE(a_failed_websocket_says_why),
	           CASE(requests_that_are_no_upgrade_are_refused));
}
