/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/tunnel.h"

static const unsigned char mask[4] = {0x12, 0x00, 0xff, 0x7e};

static void the_accept_of_the_standard(void **state)
{
	char accept[TUNNEL_ACCEPT_SIZE];

	(void)state;
	tunnel_accept(SPAN("dGhlIHNhbXBsZSBub25jZQ=="), accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

/* Feeds the bytes in pieces of `step`, as a socket may. */
static void decode_all(struct tunnel_decoder *d, struct span bytes, size_t step, struct buf *out,
                       unsigned *ret_small)
{
	*ret_small = 0;
	while (bytes.size > 0) {
		struct span piece = span_take(&bytes, step);
		enum tunnel_event event = TUNNEL_HAS_DATA;
		struct error err = {0};

		while (event != TUNNEL_NEEDS_MORE) {
			assert_int_equal(tunnel_decode(d, &piece, out, &event, &err), 0);
			*ret_small += event == TUNNEL_HAS_SMALL;
		}
		assert_int_equal(piece.size, 0);
	}
}

static void bytes_come_out_as_they_went_in(void **state)
{
	static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536, 200000};
	static const size_t steps[] = {1, 7, 65536};

	(void)state;
	for (unsigned masked = 0; masked < 2; masked++)
		for (size_t i = 0; i < COUNT_OF(sizes); i++)
			for (size_t j = sizes[i] > 1000; j < COUNT_OF(steps); j++) {
				AUTO(buf_done) struct buf sent = BUF(1 << 20), wire = BUF(1 << 20),
				                          got = BUF(1 << 20);
				struct tunnel_decoder d = {.is_masked = masked};
				unsigned small;

				for (size_t k = 0; k < sizes[i]; k++)
					buf_add_byte(&sent, (char)(k * 31));
				tunnel_encode(&wire, TUNNEL_BINARY, buf_span(&sent),
				              masked ? mask : NULL);
				tunnel_encode(&wire, TUNNEL_PING, SPAN("p"), masked ? mask : NULL);
				tunnel_encode(&wire, TUNNEL_TEXT, SPAN(TUNNEL_END),
				              masked ? mask : NULL);
				decode_all(&d, buf_span(&wire), steps[j], &got, &small);
				assert_true(span_equals(buf_span(&sent), buf_span(&got)));
				assert_int_equal(small, 2);
				assert_true(tunnel_is_end(&d));
			}
}

static void a_message_may_be_cut_into_frames(void **state)
{
	static const char wire[] = "\x02\x02"
	                           "ab"
	                           "\x89\x01"
	                           "p"
	                           "\x00\x01"
	                           "c"
	                           "\x80\x02"
	                           "de";
	AUTO(buf_done) struct buf got = BUF(64);
	struct tunnel_decoder d = {.is_masked = false};
	unsigned small;

	(void)state;
	decode_all(&d, SPAN(wire), 1, &got, &small);
	assert_string_equal(buf_text(&got), "abcde");
	assert_int_equal(small, 1);
}

static void what_does_not_fit_waits(void **state)
{
	AUTO(buf_done) struct buf wire = BUF(1024), got = BUF(4);
	struct tunnel_decoder d = {.is_masked = true};
	enum tunnel_event event;
	struct error err = {0};

	(void)state;
	tunnel_encode(&wire, TUNNEL_BINARY, SPAN("abcdefgh"), mask);
	struct span rest = buf_span(&wire);
	assert_int_equal(tunnel_decode(&d, &rest, &got, &event, &err), 0);
	assert_string_equal(buf_text(&got), "abcd");
	assert_int_equal(rest.size, 4);
	buf_reset(&got);
	assert_int_equal(tunnel_decode(&d, &rest, &got, &event, &err), 0);
	assert_string_equal(buf_text(&got), "efgh");
}

static void malformed_frames_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		bool is_masked;
	} frames[] = {
	        {"\x82\x01x", 3, true},          /* not masked */
	        {"\x82\x81\0\0\0\0x", 7, false}, /* masked */
	        {"\xc2\x01x", 3, false},         /* a reserved bit */
	        {"\x83\x01x", 3, false},         /* an unknown opcode */
	        {"\x80\x01x", 3, false},         /* a continuation of nothing */
	        {"\x09\x01x", 3, false},         /* a ping in pieces */
	        {"\x89\x7e\x00\x80", 4, false},  /* a ping that is too long */
	        {"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, false}, /* too large */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(frames); i++) {
		AUTO(buf_done) struct buf got = BUF(64);
		struct tunnel_decoder d = {.is_masked = frames[i].is_masked};
		struct span in = {frames[i].bytes, frames[i].size};
		enum tunnel_event event;
		struct error err = {0};

		assert_int_equal(tunnel_decode(&d, &in, &got, &event, &err), -1);
	}
}

static void headers_are_found_without_case(void **state)
{
	static const char text[] =
	        "GET / HTTP/1.1\r\nHost: a\r\nsec-websocket-KEY:  k \r\n\r\nrest";
	size_t size = 0;

	(void)state;
	assert_true(tunnel_head_is_whole(SPAN(text), &size));
	assert_int_equal(size, sizeof(text) - 1 - 4);
	struct span head = {text, size};
	assert_true(span_equals_text(tunnel_header(head, "Sec-WebSocket-Key"), "k"));
	assert_null(tunnel_header(head, "Absent").data);
	assert_false(tunnel_head_is_whole(SPAN("GET / HTTP/1.1\r\nHost: a\r\n"), &size));
}

static void only_the_whole_token_is_right(void **state)
{
	(void)state;
	assert_true(tunnel_token_is(SPAN("secret"), "secret"));
	assert_false(tunnel_token_is(SPAN("secreT"), "secret"));
	assert_false(tunnel_token_is(SPAN("secre"), "secret"));
	assert_false(tunnel_token_is(SPAN("secrets"), "secret"));
	assert_false(tunnel_token_is(SPAN(""), ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_accept_of_the_standard),
	        cmocka_unit_test(bytes_come_out_as_they_went_in),
	        cmocka_unit_test(a_message_may_be_cut_into_frames),
	        cmocka_unit_test(what_does_not_fit_waits),
	        cmocka_unit_test(malformed_frames_are_refused),
	        cmocka_unit_test(headers_are_found_without_case),
	        cmocka_unit_test(only_the_whole_token_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
