/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/wire.h"

TEST(frames_are_cut_one_by_one_from_the_front)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	struct span in, payload;
	struct error err;
	uint16_t type;

	wire_add_frame(&b, 3, SPAN("first"));
	wire_add_frame(&b, 0x0102, SPAN(""));
	in = buf_span(&b);
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
	assert_int_equal(type, 3);
	assert_true(span_equals_text(payload, "first"));
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
	assert_int_equal(type, 0x0102);
	assert_int_equal(payload.size, 0);
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 0);
}

TEST(an_incomplete_frame_tells_how_much_is_missing)
{
	AUTO(buf_done) struct buf b = BUF(1024);
	struct span payload;
	struct error err;
	uint16_t type;

	wire_add_frame(&b, 3, SPAN("12345"));
	for (size_t size = 0; size < b.size; size++) {
		struct span in = {b.data, size};
		size_t need;

		assert_int_equal(wire_next(&in, &type, &payload, &need, &err), 0);
		assert_int_equal(need,
		                 size < WIRE_HEAD_SIZE ? WIRE_HEAD_SIZE - size : b.size - size);
		assert_int_equal(in.size, size);
	}
}

TEST(a_frame_that_claims_too_much_or_has_a_foreign_head_is_malformed)
{
	static const struct span heads[] = {
	        {"\x01\x00\x04\x00\x01\x00\x00\x00", 8},
	        {"\x00\x00\x00\x00\x01\x00\x01\x00", 8},
	        {"GET / HT", 8},
	};

	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		struct span in = heads[i], payload;
		struct error err;
		uint16_t type;

		assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

TEST(the_largest_frame_is_accepted)
{
	AUTO(buf_done) struct buf b = BUF(WIRE_PAYLOAD_MAX + WIRE_HEAD_SIZE);
	static char big[WIRE_PAYLOAD_MAX];
	struct span in, payload;
	struct error err;
	uint16_t type;

	wire_add_frame(&b, 1, (struct span){big, sizeof(big)});
	assert_false(b.overflowed);
	in = buf_span(&b);
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
	assert_int_equal(payload.size, WIRE_PAYLOAD_MAX);
}

TEST(a_frame_that_does_not_fit_is_dropped_whole)
{
	AUTO(buf_done) struct buf b = BUF(WIRE_HEAD_SIZE + 4);

	wire_add_frame(&b, 1, SPAN("12345"));
	assert_true(b.overflowed);
	assert_int_equal(b.size, 0);
}

int main(void)
{
	return RUN(CASE(frames_are_cut_one_by_one_from_the_front),
	           CASE(an_incomplete_frame_tells_how_much_is_missing),
	           CASE(a_frame_that_claims_too_much_or_has_a_foreign_head_is_malformed),
	           CASE(the_largest_frame_is_accepted),
	           CASE(a_frame_that_does_not_fit_is_dropped_whole));
}
