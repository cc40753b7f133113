/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"
#include "wire/broker_template.h"

struct everything {
	uint32_t small;
	uint64_t large;
	int64_t negative;
	const char *text;
	struct span bytes;
	const char **list;
};

static const struct wire_member everything_shape[] = {
        WIRE_U32_MEMBER(everything, small),
        WIRE_U64_MEMBER(everything, large),
        WIRE_I64_MEMBER(everything, negative),
        WIRE_TEXT_MEMBER(everything, text, 8),
        WIRE_BYTES_MEMBER(everything, bytes, 4),
        WIRE_TEXT_LIST_MEMBER(everything, list, 3),
        WIRE_END,
};

static const char *const two[] = {"one", "", NULL};
static const char *const four[] = {"1", "2", "3", "4", NULL};

static const char **list_of(const char *const *list)
{
	return (const char **)(uintptr_t)list;
}

static struct everything filled(void)
{
	return (struct everything){.small = 0x01020304,
	                           .large = 0x0102030405060708,
	                           .negative = -2,
	                           .text = "text",
	                           .bytes = {"a\0b", 3},
	                           .list = list_of(two)};
}

static int encode(struct buf *out, const struct everything *message, struct error *err)
{
	return wire_encode(out, 7, everything_shape, message, err);
}

static struct span payload_of(const struct buf *b)
{
	return (struct span){b->data + WIRE_HEAD_SIZE, b->size - WIRE_HEAD_SIZE};
}

TEST(what_is_encoded_decodes_to_the_same)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	AUTO(arena_done) struct arena a = {0};
	struct everything in = filled(), out;
	struct error err;

	assert_int_equal(encode(&b, &in, &err), 0);
	assert_int_equal(wire_decode(&a, payload_of(&b), everything_shape, &out, sizeof(out), &err),
	                 0);
	assert_int_equal(out.small, in.small);
	assert_int_equal(out.large, in.large);
	assert_int_equal(out.negative, -2);
	assert_string_equal(out.text, "text");
	assert_int_equal(out.bytes.size, 3);
	assert_memory_equal(out.bytes.data, "a\0b", 3);
	assert_string_equal(out.list[0], "one");
	assert_string_equal(out.list[1], "");
	assert_null(out.list[2]);
}

TEST(integers_are_little_endian_at_full_width)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	struct everything in = filled();
	struct error err;

	assert_int_equal(encode(&b, &in, &err), 0);
	assert_memory_equal(b.data + 4, "\x07\x00\x00\x00", 4);
	assert_memory_equal(b.data + WIRE_HEAD_SIZE, "\x04\x03\x02\x01\x08\x07\x06\x05", 8);
}

TEST(null_text_and_lists_come_out_empty)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	AUTO(arena_done) struct arena a = {0};
	struct everything in = {0}, out;
	struct error err;

	assert_int_equal(encode(&b, &in, &err), 0);
	assert_int_equal(wire_decode(&a, payload_of(&b), everything_shape, &out, sizeof(out), &err),
	                 0);
	assert_string_equal(out.text, "");
	assert_non_null(out.list);
	assert_null(out.list[0]);
}

TEST(a_null_shape_is_an_empty_payload)
{
	AUTO(buf_done) struct buf b = BUF(64);
	AUTO(arena_done) struct arena a = {0};
	struct error err;
	char nothing = 1;

	assert_int_equal(wire_encode(&b, AGENT_PING, NULL, NULL, &err), 0);
	assert_int_equal(b.size, WIRE_HEAD_SIZE);
	assert_int_equal(wire_decode(&a, payload_of(&b), NULL, &nothing, 1, &err), 0);
	assert_int_equal(wire_decode(&a, SPAN("x"), NULL, &nothing, 1, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void refuse_to_encode(const struct everything *message, size_t room)
{
	AUTO(buf_done) struct buf b = BUF(room);
	struct error err;

	buf_add_text(&b, "kept");
	assert_int_equal(encode(&b, message, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_string_equal(buf_text(&b), "kept");
	assert_false(b.overflowed);
}

TEST(a_message_beyond_its_limits_is_not_encoded_and_leaves_the_buffer_as_it_was)
{
	struct everything text = filled(), bytes = filled(), list = filled(), fine = filled();

	text.text = "nine long";
	bytes.bytes = SPAN("12345");
	list.list = list_of(four);
	refuse_to_encode(&text, 1024);
	refuse_to_encode(&bytes, 1024);
	refuse_to_encode(&list, 1024);
	refuse_to_encode(&fine, 20);
}

TEST(a_payload_larger_than_any_frame_is_not_encoded)
{
	AUTO(buf_done) struct buf b = BUF(2 * WIRE_PAYLOAD_MAX);
	static char big[WIRE_PAYLOAD_MAX];
	struct agent_exec exec = {.stdin_bytes = {big, sizeof(big)}};
	struct error err;

	assert_int_equal(wire_encode(&b, AGENT_EXEC, agent_exec_shape, &exec, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(b.size, 0);
}

TEST(every_shortened_payload_is_malformed)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	struct everything in = filled(), out;
	struct error err;

	assert_int_equal(encode(&b, &in, &err), 0);
	for (size_t size = 0; size < payload_of(&b).size; size++) {
		AUTO(arena_done) struct arena a = {0};
		struct span cut = {payload_of(&b).data, size};

		assert_int_equal(wire_decode(&a, cut, everything_shape, &out, sizeof(out), &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void refuse_to_decode(const struct wire_member *shape, struct span payload)
{
	AUTO(arena_done) struct arena a = {0};
	struct everything out;
	struct error err;

	assert_int_equal(wire_decode(&a, payload, shape, &out, sizeof(out), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_true(a.total < 1024);
}

TEST(hostile_payloads_are_refused_before_memory_is_taken)
{
	static const struct wire_member text[] = {WIRE_TEXT_MEMBER(everything, text, 8), WIRE_END};
	static const struct wire_member bytes[] = {WIRE_BYTES_MEMBER(everything, bytes, 4),
	                                           WIRE_END};
	static const struct wire_member list[] = {WIRE_TEXT_LIST_MEMBER(everything, list, 0),
	                                          WIRE_END};

	refuse_to_decode(text, SPAN("\x03\0\0\0a\0b"));
	refuse_to_decode(text, SPAN("\x09\0\0\0nine long"));
	refuse_to_decode(text, SPAN("\xff\xff\xff\xff"
	                            "abc"));
	refuse_to_decode(text, SPAN("\x03\0\0\0abc-and-more"));
	refuse_to_decode(bytes, SPAN("\x05\0\0\0"
	                             "12345"));
	refuse_to_decode(list, SPAN("\x00\x00\x03\x00\0\0\0\0"));
	refuse_to_decode(list, SPAN("\xff\xff\xff\xff\0\0\0\0"));
}

TEST(decoding_zeroes_what_the_shape_does_not_name)
{
	static const struct wire_member small[] = {WIRE_U32_MEMBER(everything, small), WIRE_END};
	AUTO(arena_done) struct arena a = {0};
	struct everything out;
	struct error err;

	memset(&out, 0xff, sizeof(out));
	assert_int_equal(wire_decode(&a, SPAN("\x01\0\0\0"), small, &out, sizeof(out), &err), 0);
	assert_int_equal(out.small, 1);
	assert_int_equal(out.large, 0);
	assert_null(out.text);
}

/* The widest of all our messages, so that a table that forgets to end or lies about a type is
 * found by the sanitizers. */
union any {
	struct agent_exec exec;
	struct agent_process process;
	struct agent_path path;
	struct broker_create create;
	struct broker_usage usage;
};

TEST(every_shape_of_the_protocols_round_trips_when_empty)
{
	const struct wire_member *const shapes[] = {
	        agent_failed_shape,    agent_done_shape,   agent_pong_shape,
	        agent_exec_shape,      agent_attach_shape, agent_process_shape,
	        agent_output_shape,    agent_resize_shape, agent_signal_shape,
	        agent_feed_shape,      agent_stop_shape,   agent_path_shape,
	        agent_file_shape,      agent_change_shape, broker_hello_shape,
	        broker_welcome_shape,  broker_id_shape,    broker_create_shape,
	        broker_created_shape,  broker_entry_shape, broker_usage_shape,
	        broker_template_shape, broker_ok_shape,    broker_failed_shape,
	        broker_ended_shape,    broker_limit_shape,
	};

	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		AUTO(buf_done) struct buf b = BUF(1024);
		AUTO(arena_done) struct arena a = {0};
		union any in, out;
		struct error err;

		memset(&in, 0, sizeof(in));
		assert_int_equal(wire_encode(&b, 1, shapes[i], &in, &err), 0);
		assert_int_equal(
		        wire_decode(&a, payload_of(&b), shapes[i], &out, sizeof(out), &err), 0);
	}
}

int main(void)
{
	return RUN(CASE(what_is_encoded_decodes_to_the_same),
	           CASE(integers_are_little_endian_at_full_width),
	           CASE(null_text_and_lists_come_out_empty), CASE(a_null_shape_is_an_empty_payload),
	           CASE(a_message_beyond_its_limits_is_not_encoded_and_leaves_the_buffer_as_it_was),
	           CASE(a_payload_larger_than_any_frame_is_not_encoded),
	           CASE(every_shortened_payload_is_malformed),
	           CASE(hostile_payloads_are_refused_before_memory_is_taken),
	           CASE(decoding_zeroes_what_the_shape_does_not_name),
	           CASE(every_shape_of_the_protocols_round_trips_when_empty));
}
