/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "compression/gunzip.h"

#define PLAIN "one two three, and one two three again"

static size_t pack_text(int window, char *out, size_t room)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)PLAIN;
	z.avail_in = sizeof(PLAIN) - 1;
	z.next_out = (unsigned char *)out;
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	(void)deflateEnd(&z);
	return room - z.avail_out;
}

static void read_member(struct gunzip *g, struct span *in, size_t room)
{
	char plain[sizeof(PLAIN)];
	size_t size = 0;
	struct error err;

	while (!gunzip_is_at_end(g)) {
		ssize_t got = gunzip_read(g, in, plain + size, room, &err);

		assert_in_range(got, 0, room);
		size += (size_t)got;
		assert_in_range(size + room, room, sizeof(plain) - 1 + room);
		if (size + room > sizeof(plain))
			room = sizeof(plain) - size;
	}
	assert_int_equal(size, sizeof(PLAIN) - 1);
	assert_memory_equal(plain, PLAIN, size);
}

TEST(each_format_is_decoded_with_any_room)
{
	static const int windows[] = {[GUNZIP_GZIP] = 31, [GUNZIP_ZLIB] = 15, [GUNZIP_RAW] = -15};
	char packed[256];

	for (enum gunzip_format format = GUNZIP_GZIP; format <= GUNZIP_RAW; format++)
		for (size_t room = 1; room < sizeof(PLAIN); room += 7) {
			struct gunzip *g = gunzip_new(format);
			struct span in = {packed,
			                  pack_text(windows[format], packed, sizeof(packed))};

			read_member(g, &in, room);
			assert_int_equal(in.size, 0);
			gunzip_free(g);
		}
	gunzip_free(NULL);
}

TEST(the_next_member_begins_after_a_restart)
{
	char packed[256];
	size_t one = pack_text(31, packed, 128), two = pack_text(31, packed + one, 128);
	struct span in = {packed, one + two};
	struct gunzip *g = gunzip_new(GUNZIP_GZIP);

	read_member(g, &in, 8);
	assert_int_equal(in.size, two);
	gunzip_restart(g);
	assert_false(gunzip_is_at_end(g));
	read_member(g, &in, 8);
	assert_int_equal(in.size, 0);
	gunzip_free(g);
}

TEST(malformed_input_is_an_error_and_missing_input_is_not)
{
	struct gunzip *g = gunzip_new(GUNZIP_GZIP);
	struct span none = SPAN(""), bad = SPAN("this is no gzip");
	struct error err;
	char out[8];

	assert_int_equal(gunzip_read(g, &none, out, sizeof(out), &err), 0);
	assert_false(gunzip_is_at_end(g));
	assert_int_equal(gunzip_read(g, &bad, out, sizeof(out), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	gunzip_free(g);
}

TEST(a_ratio_counts_beyond_the_free_bytes)
{
	const struct ratio_limit limit = {.times = 10, .free = 1000};

	assert_false(ratio_is_exceeded(limit, 0, 1000));
	assert_true(ratio_is_exceeded(limit, 0, 1001));
	assert_false(ratio_is_exceeded(limit, 200, 2000));
	assert_true(ratio_is_exceeded(limit, 199, 2000));
}

int main(void)
{
	return RUN(CASE(each_format_is_decoded_with_any_room),
	           CASE(the_next_member_begins_after_a_restart),
	           CASE(malformed_input_is_an_error_and_missing_input_is_not),
	           CASE(a_ratio_counts_beyond_the_free_bytes));
}
