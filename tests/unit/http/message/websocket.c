/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "http/message/websocket.h"

struct peer {
	struct websocket *ws;
	struct buf sent, messages; /* messages as "t:text;" or "b:bytes;" */
};

static void on_message(void *context, bool is_text, struct span message)
{
	struct peer *p = context;

	buf_add_text(&p->messages, is_text ? "t:" : "b:");
	buf_add_span(&p->messages, message);
	buf_add_text(&p->messages, ";");
}

static void on_send(void *context, struct span bytes)
{
	buf_add_span(&((struct peer *)context)->sent, bytes);
}

static const struct websocket_events events = {.on_message = on_message, .send = on_send};

static void peer_open(struct peer *p)
{
	*p = (struct peer){.sent = BUF(1 << 22), .messages = BUF(1 << 22)};
	p->ws = websocket_new(&events, p);
}

static void peer_close(struct peer *p)
{
	websocket_free(p->ws);
	buf_done(&p->sent);
	buf_done(&p->messages);
}

/* A masked client frame; `first` is the first byte: FIN, RSV and opcode. */
static void add_frame(struct buf *out, unsigned char first, struct span payload)
{
	static const unsigned char mask[] = {1, 2, 3, 4};

	buf_add_byte(out, (char)first);
	if (payload.size < 126) {
		buf_add_byte(out, (char)(0x80 | payload.size));
	} else {
		buf_add_byte(out, (char)(0x80 | 127));
		for (int shift = 56; shift >= 0; shift -= 8)
			buf_add_byte(out, (char)(payload.size >> shift));
	}
	buf_add(out, mask, sizeof(mask));
	for (size_t i = 0; i < payload.size; i++)
		buf_add_byte(out, (char)(payload.data[i] ^ mask[i % 4]));
}

static enum websocket_state receive_frame(struct peer *p, unsigned char first, struct span payload)
{
	AUTO(buf_done) struct buf frame = BUF(1 << 22);

	add_frame(&frame, first, payload);
	return websocket_receive(p->ws, buf_span(&frame));
}

/* The code in the close frame that was sent last, or 0. */
static int close_code(const struct peer *p)
{
	const unsigned char *at = (const unsigned char *)p->sent.data;

	if (p->sent.size < 4 || at[0] != 0x88)
		return 0;
	return at[2] << 8 | at[3];
}

TEST(messages_come_whole_however_they_are_cut)
{
	AUTO(buf_done) struct buf frames = BUF(1000);

	add_frame(&frames, 0x81, SPAN("h\xc3\xa9"));
	add_frame(&frames, 0x02, SPAN("a"));
	add_frame(&frames, 0x89, SPAN("ping"));
	add_frame(&frames, 0x80, SPAN("b"));
	for (size_t step = 1; step <= frames.size; step++) {
		struct peer p;

		peer_open(&p);
		for (size_t at = 0; at < frames.size; at += step) {
			size_t size = frames.size - at < step ? frames.size - at : step;

			assert_int_equal(
			        websocket_receive(p.ws, (struct span){frames.data + at, size}),
			        WEBSOCKET_OPEN);
		}
		assert_string_equal(buf_text(&p.messages), "t:h\xc3\xa9;b:ab;");
		assert_memory_equal(p.sent.data, "\x8a\x04ping", 6);
		peer_close(&p);
	}
}

TEST(what_the_server_sends_is_framed_without_a_mask)
{
	struct peer p;

	peer_open(&p);
	websocket_send(p.ws, true, SPAN("hi"));
	websocket_send(p.ws, false, SPAN("\x00"));
	websocket_ping(p.ws);
	websocket_close(p.ws, WEBSOCKET_NORMAL, "bye");
	websocket_send(p.ws, true, SPAN("too late"));
	assert_int_equal(p.sent.size, 16);
	assert_memory_equal(p.sent.data,
	                    "\x81\x02hi\x82\x01\x00\x89\x00\x88\x05\x03\xe8"
	                    "bye",
	                    16);
	peer_close(&p);
}

TEST(a_close_frame_is_answered)
{
	struct peer p;

	peer_open(&p);
	assert_int_equal(receive_frame(&p, 0x88, SPAN("\x03\xe8")), WEBSOCKET_CLOSED_BY_CLIENT);
	assert_int_equal(close_code(&p), 1000);
	peer_close(&p);
}

TEST(frames_that_break_the_protocol_are_answered_with_the_reason)
{
	static const struct {
		unsigned char first;
		struct span payload;
		int code; /* 0: wslay gives none */
	} cases[] = {
	        {0x81, SPAN("\xff"), 1007},         /* not UTF-8 */
	        {0x81, SPAN("\xed\xa0\x80"), 1007}, /* a surrogate */
	        {0xc1, SPAN("x"), 1002},            /* a reserved bit */
	        {0x83, SPAN("x"), 1002},            /* a reserved opcode */
	        {0x80, SPAN("x"), 1002},            /* nothing to continue */
	        {0x09, SPAN("x"), 0},               /* a fragmented ping */
	        {0x88, SPAN("\x03"), 0},            /* half a close code */
	        {0x88, SPAN("\x03\xec"), 1002},     /* 1004 */
	        {0x88, SPAN("\x03\xe8\xff"), 1007}, /* reason not UTF-8 */
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct peer p;

		peer_open(&p);
		assert_int_not_equal(receive_frame(&p, cases[i].first, cases[i].payload),
		                     WEBSOCKET_OPEN);
		assert_int_equal((unsigned char)p.sent.data[0], 0x88);
		if (close_code(&p) != cases[i].code)
			fail_msg("case %zu: %d", i, close_code(&p));
		peer_close(&p);
	}
}

TEST(an_unmasked_frame_breaks_the_protocol)
{
	struct peer p;

	peer_open(&p);
	assert_int_equal(websocket_receive(p.ws, SPAN("\x81\x01x")), WEBSOCKET_BROKEN);
	assert_int_equal(close_code(&p), 1002);
	peer_close(&p);
}

TEST(a_message_over_the_limit_is_refused_also_in_pieces)
{
	size_t size = WEBSOCKET_MESSAGE_MAX;
	char *text = calloc(1, size + 1);
	struct peer p;

	peer_open(&p);
	assert_int_equal(receive_frame(&p, 0x82, (struct span){text, size}), WEBSOCKET_OPEN);
	assert_int_equal(p.messages.size, size + 3);
	assert_int_equal(receive_frame(&p, 0x82, (struct span){text, size + 1}), WEBSOCKET_BROKEN);
	assert_int_equal(close_code(&p), 1009);
	peer_close(&p);
	peer_open(&p);
	assert_int_equal(receive_frame(&p, 0x02, (struct span){text, size}), WEBSOCKET_OPEN);
	assert_int_equal(receive_frame(&p, 0x80, (struct span){text, 1}), WEBSOCKET_BROKEN);
	assert_int_equal(close_code(&p), 1009);
	peer_close(&p);
	free(text);
}

TEST(a_long_close_reason_is_cut_between_characters)
{
	char reason[200];
	struct peer p;

	memset(reason, 'x', 122);
	memcpy(reason + 122, "\xc3\xa9", 3);
	peer_open(&p);
	websocket_close(p.ws, WEBSOCKET_FAILED, reason);
	assert_int_equal(p.sent.size, 2 + 2 + 122);
	assert_int_equal(close_code(&p), 1011);
	peer_close(&p);
}

/* A sanitizer's allocator counts nothing here, and so finds nothing. */
TEST(a_connection_that_rests_holds_no_buffers)
{
	struct peer peers[64];
	size_t before = mallinfo2().uordblks, after;

	for (size_t i = 0; i < COUNT_OF(peers); i++) {
		peer_open(&peers[i]);
		websocket_ping(peers[i].ws);
		assert_int_equal(receive_frame(&peers[i], 0x81, SPAN("a")), WEBSOCKET_OPEN);
		buf_done(&peers[i].sent);
		buf_done(&peers[i].messages);
	}
	after = mallinfo2().uordblks;
	assert_true(after - before < COUNT_OF(peers) * 1024);
	for (size_t i = 0; i < COUNT_OF(peers); i++)
		peer_close(&peers[i]);
}

TEST(keys_are_checked_and_answered)
{
	AUTO(buf_done) struct buf out = BUF(100);

	websocket_write_accept(&out, "dGhlIHNhbXBsZSBub25jZQ=="); /* RFC 6455, 1.3 */
	assert_string_equal(buf_text(&out), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	assert_true(websocket_key_is_valid("dGhlIHNhbXBsZSBub25jZQ=="));
	assert_false(websocket_key_is_valid(""));
	assert_false(websocket_key_is_valid("dGhlIHNhbXBsZSBub25jZQ="));
	assert_false(websocket_key_is_valid("dGhlIHNhbXBsZSBub25jZ==="));
	assert_false(websocket_key_is_valid("dGhlIHNhbXBsZSBub25jZ!=="));
}

int main(void)
{
	return RUN(CASE(messages_come_whole_however_they_are_cut),
	           CASE(what_the_server_sends_is_framed_without_a_mask),
	           CASE(a_close_frame_is_answered),
	           CASE(frames_that_break_the_protocol_are_answered_with_the_reason),
	           CASE(an_unmasked_frame_breaks_the_protocol),
	           CASE(a_message_over_the_limit_is_refused_also_in_pieces),
	           CASE(a_long_close_reason_is_cut_between_characters),
	           CASE(a_connection_that_rests_holds_no_buffers),
	           CASE(keys_are_checked_and_answered));
}
