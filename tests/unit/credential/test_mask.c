/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

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

TEST(a_stream_keeps_back_what_may_begin_a_value)
{
	struct mask *m = make();

	assert_true(mask_reach(m) >= strlen(VALUE) - 1);
	assert_int_equal(mask_begun(m, SPAN("text ghp_0123")), 8);
	assert_int_equal(mask_begun(m, SPAN("text ghp_")), 4);
	assert_int_equal(mask_begun(m, SPAN("text ghp")), 0);
	assert_int_equal(mask_begun(m, SPAN("text, ")), 0);
	assert_int_equal(mask_begun(m, SPAN("g")), 0);
	assert_int_equal(mask_begun(m, SPAN("")), 0);
	mask_free(m);
}

TEST(no_value_is_no_work)
{
	struct mask *m = mask_new(NULL, 0);

	assert_false(masks(m, "text of any kind"));
	assert_int_equal(mask_reach(m), 0);
	assert_int_equal(mask_begun(m, SPAN("text")), 0);
	mask_free(m);
	mask_free(NULL);
}

int main(void)
{
	return RUN(CASE(a_value_is_masked_in_its_length), CASE(a_value_is_found_in_other_forms),
	           CASE(a_value_is_found_in_base64_at_any_offset),
	           CASE(a_stream_keeps_back_what_may_begin_a_value), CASE(no_value_is_no_work));
}
