/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "credential/passage/mask.h"
#include "json/base64.h"

#define VALUE "ghp_0123/56\"89abc+def"

static struct mask *make(void)
{
	static const char *const values[] = {VALUE, "short", "another-secret"};

	return mask_new(values, COUNT_OF(values));
}

/* Masks a text, and returns whether anything of it was. */
static bool masks(const struct mask *m, const char *text)
{
	char copy[512];
	size_t size = strlen(text);

	memcpy(copy, text, size + 1);
	mask_bytes(m, copy, size);
	assert_int_equal(strlen(copy), size);
	return strcmp(copy, text) != 0;
}

TEST(a_value_is_masked_in_its_length)
{
	struct mask *m = make();
	char text[] = "a short text, " VALUE "" VALUE " and another-secret.";

	mask_bytes(m, text, strlen(text));
	assert_string_equal(text, "a short text, ****************************************** and "
	                          "**************.");
	assert_false(masks(m, "ghp_0123/56\"89abc+de"));
	assert_false(masks(m, ""));
	mask_free(m);
}

TEST(a_value_is_found_in_other_forms)
{
	struct mask *m = make();

	assert_true(masks(m, "{\"a\":\"ghp_0123/56\\\"89abc+def\"}"));
	assert_true(masks(m, "{\"a\":\"ghp_0123\\/56\\\"89abc+def\"}"));
	assert_true(masks(m, "?a=ghp_0123%2F56%2289abc%2Bdef"));
	assert_true(masks(m, "?a=ghp_0123%2f56%2289abc%2bdef"));
	assert_true(masks(m, "6768705f303132332f35362238396162632b646566"));
	assert_true(masks(m, "6768705F303132332F35362238396162632B646566"));
	mask_free(m);
}

TEST(a_value_is_found_in_base64_at_any_offset)
{
	struct mask *m = make();

	for (size_t before = 0; before < 9; before++) {
		AUTO(buf_done) struct buf plain = BUF(256), text = BUF(512);

		buf_add(&plain, "user:name:", before);
		buf_add_text(&plain, VALUE "xyz");
		base64_encode(&text, buf_span(&plain));
		assert_true(masks(m, buf_text(&text)));
		for (size_t i = 0; i < text.size; i++)
			text.data[i] = text.data[i] == '/'   ? '_'
			               : text.data[i] == '+' ? '-'
			                                     : text.data[i];
		assert_true(masks(m, buf_text(&text)));
	}
	mask_free(m);
}

/* What a stream keeps back when it pauses after this text. */
static size_t begun(const struct mask *m, const char *text)
{
	struct mask_stream s = {0};
	char copy[512];

	memcpy(copy, text, strlen(text) + 1);
	(void)mask_next(m, &s, &(struct mask_piece){.data = copy, .size = strlen(text)});
	return mask_begun(m, &s);
}

TEST(a_stream_keeps_back_what_may_begin_a_value)
{
	struct mask *m = make();

	assert_true(mask_reach(m) >= strlen(VALUE) - 1);
	assert_int_equal(begun(m, "text ghp_0123"), 8);
	assert_int_equal(begun(m, "text ghp_"), 4);
	assert_int_equal(begun(m, "text ghp"), 0);
	assert_int_equal(begun(m, "text, "), 0);
	assert_int_equal(begun(m, "g"), 0);
	assert_int_equal(begun(m, ""), 0);
	assert_int_equal(begun(m, "text " VALUE), 0);
	assert_int_equal(begun(m, VALUE "ghp_0"), 5);
	mask_free(m);
}

TEST(a_value_is_found_over_pieces_of_any_size)
{
	static const char text[] = "some text before, ghp_ghp_0123/56\"89abc+de, " VALUE
	                           ", 6768705f303132332f35362238396162632b646566, end";
	struct mask *m = make();
	char whole[sizeof(text)], piece_wise[sizeof(text)];

	memcpy(whole, text, sizeof(text));
	mask_bytes(m, whole, strlen(text));
	assert_null(strstr(whole, VALUE));
	for (size_t step = 1; step < sizeof(text); step++) {
		struct mask_stream s = {0};

		memcpy(piece_wise, text, sizeof(text));
		for (size_t at = 0; at < strlen(text); at += step) {
			size_t end = at + step < strlen(text) ? at + step : strlen(text);

			(void)mask_next(
			        m, &s,
			        &(struct mask_piece){.data = piece_wise, .known = at, .size = end});
		}
		assert_string_equal(piece_wise, whole);
	}
	mask_free(m);
}

TEST(a_value_is_found_when_its_first_bytes_are_gone)
{
	struct mask_stream s = {0};
	struct mask *m = make();
	char text[] = VALUE;

	assert_false(mask_next(m, &s, &(struct mask_piece){.data = text, .size = 3}));
	/* The three have been sent: the rest is at the front now. */
	assert_true(mask_next(m, &s,
	                      &(struct mask_piece){.data = text + 3, .size = strlen(VALUE) - 3}));
	assert_string_equal(text, "ghp******************");
	mask_free(m);
}

TEST(a_value_is_found_as_servers_escape_it)
{
	static const char *const values[] = {"p<a&s's\"w/o+r d=="};
	static const char *const texts[] = {"p\\u003ca\\u0026s's\\\"w/o+r d==",
	                                    "p\\u003ca\\u0026s\\u0027s\\\"w/o+r d==",
	                                    "p&lt;a&amp;s's&quot;w/o+r d==",
	                                    "p&lt;a&amp;s&#39;s&quot;w/o+r d==",
	                                    "p&lt;a&amp;s&#x27;s&quot;w/o+r d==",
	                                    "p&lt;a&amp;s&#39;s&#34;w/o&#43;r d==",
	                                    "p%3Ca%26s%27s%22w/o%2Br%20d%3D%3D",
	                                    "p%3Ca%26s's%22w%2Fo%2Br%20d%3D%3D",
	                                    "p%3ca%26s%27s%22w%2fo%2br%20d%3d%3d",
	                                    "p%3Ca&s's%22w/o+r%20d==",
	                                    "p\\u003Ca\\u0026s\\u0027s\\u0022w/o\\u002Br d=="};
	struct mask *m = mask_new(values, 1);

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_true(masks(m, texts[i]));
	mask_free(m);
}

/* A value of one sandbox must not hold up the answers of others. */
TEST(the_search_takes_the_same_time_for_all_values)
{
	enum { COUNT = 120, SIZE = 8192, DATA = 256 * 1024 };
	static char texts[COUNT][SIZE + 1];
	const char *values[COUNT];
	struct mask_stream s = {0};
	char *data = malloc(DATA);
	int64_t begun_ms = unit_cpu_ms();

	for (size_t i = 0; i < COUNT; i++) {
		memset(texts[i], 'a', SIZE);
		texts[i][SIZE - 1] = (char)('b' + i % 20);
		texts[i][SIZE - 2] = (char)('b' + i / 20);
		values[i] = texts[i];
	}
	memset(data, 'a', DATA);
	struct mask *m = mask_new(values, COUNT);

	/* Piece by piece, with a pause after each. */
	for (size_t at = 0; at < DATA; at += 64) {
		(void)mask_next(m, &s,
		                &(struct mask_piece){.data = data, .known = at, .size = at + 64});
		(void)mask_begun(m, &s);
	}
	assert_true(unit_cpu_ms() - begun_ms < 5000);
	mask_free(m);
	free(data);
}

TEST(a_long_value_is_found_to_its_end)
{
	static char one[5000], other[5000], text[12000];
	const char *const values[] = {one, other};
	struct mask *m;

	for (size_t i = 0; i < sizeof(one) - 1; i++)
		one[i] = other[i] = (char)('a' + i * i % 23);
	memset(other + 3000, 'z', 1999);
	m = mask_new(values, 2);
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		memset(text, '.', sizeof(text) - 1);
		memcpy(text + 100, values[i], 4999);
		mask_bytes(m, text, sizeof(text) - 1);
		assert_int_equal(strspn(text + 100, "*"), 4999);
		assert_int_equal(strspn(text + 5099, "."), sizeof(text) - 1 - 5099);
	}
	/* A part of it, too, as far as it goes. */
	memset(text, '.', sizeof(text) - 1);
	memcpy(text + 100, one, 2000);
	mask_bytes(m, text, sizeof(text) - 1);
	assert_int_equal(strspn(text + 100, "*"), 2000);
	assert_int_equal(text[2100], '.');
	mask_free(m);
}

TEST(values_that_overlap_are_both_masked)
{
	static const char *const values[] = {"first-secret", "secret-second"};
	struct mask *m = mask_new(values, 2);
	char text[] = "a first-secret-second b";

	mask_bytes(m, text, strlen(text));
	assert_string_equal(text, "a ******************* b");
	mask_free(m);
}

TEST(no_value_is_no_work)
{
	struct mask *m = mask_new(NULL, 0);

	assert_false(masks(m, "text of any kind"));
	assert_int_equal(mask_reach(m), 0);
	assert_int_equal(begun(m, "text"), 0);
	mask_free(m);
	mask_free(NULL);
}

int main(void)
{
	return RUN(CASE(a_value_is_masked_in_its_length), CASE(a_value_is_found_in_other_forms),
	           CASE(a_value_is_found_in_base64_at_any_offset),
	           CASE(a_stream_keeps_back_what_may_begin_a_value),
	           CASE(a_value_is_found_over_pieces_of_any_size),
	           CASE(a_value_is_found_when_its_first_bytes_are_gone),
	           CASE(a_value_is_found_as_servers_escape_it),
	           CASE(the_search_takes_the_same_time_for_all_values),
	           CASE(a_long_value_is_found_to_its_end),
	           CASE(values_that_overlap_are_both_masked), CASE(no_value_is_no_work));
}
