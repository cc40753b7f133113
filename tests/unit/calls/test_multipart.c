/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/multipart.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define TYPE "multipart/form-data; boundary=XX"

/* What the parser told, as "name/file:bytes;" per part. */
struct told {
	struct buf text;
};

static int on_part(void *context, const struct multipart_part *part, struct error *err)
{
	struct told *t = context;

	(void)err;
	buf_add_span(&t->text, part->name);
	buf_add_byte(&t->text, '/');
	if (part->file_name.data)
		buf_add_span(&t->text, part->file_name);
	else
		buf_add_byte(&t->text, '-');
	buf_add_byte(&t->text, ':');
	return 0;
}

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	(void)err;
	buf_add_span(&((struct told *)context)->text, bytes);
	return 0;
}

static int on_part_end(void *context, struct error *err)
{
	(void)err;
	buf_add_byte(&((struct told *)context)->text, ';');
	return 0;
}

static const struct multipart_ops ops = {on_part, on_bytes, on_part_end};

/* Feeds the body in pieces; NULL when the parser refused it. */
static const char *parse(struct told *t, const char *type, struct span body, size_t piece)
{
	struct multipart m = {.ops = NULL};
	struct error err = {.code = ERROR_NONE};
	int result = multipart_init(&m, type, &ops, t, &err);

	buf_reset(&t->text);
	while (result == 0 && body.size > 0) {
		size_t size = body.size < piece ? body.size : piece;

		result = multipart_add(&m, (struct span){body.data, size}, &err);
		body.data += size;
		body.size -= size;
	}
	if (result == 0)
		result = multipart_end(&m, &err);
	multipart_done(&m);
	return result == 0 ? buf_text(&t->text) : NULL;
}

static const char form[] = "--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi\r\n"
                           "--XX\r\ncontent-disposition:form-data; filename=\"a b.txt\"; "
                           "name=f\r\nContent-Type: text/plain\r\n\r\nline\r\n--XY\r\n\r\n"
                           "--XX--\r\nepilogue";

TEST(a_form_is_told_part_by_part_however_it_is_cut)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct told t = {text};

	for (size_t piece = 1; piece <= sizeof(form); piece++)
		assert_string_equal(parse(&t, TYPE, SPAN(form), piece),
		                    "note/-:hi;f/a b.txt:line\r\n--XY\r\n;");
	text = t.text;
}

TEST(a_preamble_is_passed_over)
{
	struct told t = {BUF(4096)};

	assert_string_equal(parse(&t, TYPE,
	                          SPAN("hello\r\n--XX \t\r\nContent-Disposition: form-data; "
	                               "name=a\r\n\r\n1\r\n--XX--"),
	                          3),
	                    "a/-:1;");
	buf_done(&t.text);
}

TEST(an_empty_part_has_no_bytes)
{
	struct told t = {BUF(4096)};

	assert_string_equal(parse(&t, TYPE,
	                          SPAN("--XX\r\nContent-Disposition: form-data; name=a; "
	                               "filename=\"\"\r\n\r\n\r\n--XX--\r\n"),
	                          1),
	                    "a/:;");
	buf_done(&t.text);
}

TEST(quotes_in_names_are_unescaped_and_backslashes_stay)
{
	struct told t = {BUF(4096)};

	assert_string_equal(parse(&t, "Multipart/Form-Data; charset=x; BOUNDARY=\"XX\"",
	                          SPAN("--XX\r\nContent-Disposition: form-data; name=\"a\\\"b\"; "
	                               "filename=\"C:\\x;y\"\r\n\r\n.\r\n--XX--"),
	                          5),
	                    "a\"b/C:\\x;y:.;");
	buf_done(&t.text);
}

TEST(what_is_no_form_is_refused)
{
	static const char *const types[] = {
	        "",
	        "text/plain",
	        "multipart/form-data",
	        "multipart/form-data; boundary=",
	        "multipart/form-data; boundary=\"a b\"",
	        "multipart/mixed; boundary=XX",
	        "multipart/form-data; "
	        "boundary=0123456789012345678901234567890123456789012345678901234"
	        "56789012345678901234567890",
	};
	struct told t = {BUF(4096)};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		assert_null(parse(&t, types[i], SPAN(form), 100));
	buf_done(&t.text);
}

TEST(a_broken_body_is_refused)
{
	static const char *const bodies[] = {
	        "",
	        "--XX",
	        "--XX\r\n",
	        "--XXX\r\n",
	        "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--",
	        "--XX\r\nContent-Type: text/plain\r\n\r\nx\r\n--XX--",
	        "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nno end",
	        "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--XX-?",
	};
	struct told t = {BUF(4096)};

	for (size_t i = 0; i < COUNT_OF(bodies); i++)
		assert_null(parse(&t, TYPE, span_of(bodies[i]), 4));
	buf_done(&t.text);
}

TEST(a_head_without_end_is_refused_before_it_fills_memory)
{
	struct told t = {BUF(4096)};
	static char body[MULTIPART_HEAD_MAX + 4096];

	memset(body, 'h', sizeof(body));
	memcpy(body, "--XX\r\n", 6);
	assert_null(parse(&t, TYPE, (struct span){body, sizeof(body)}, 1000));
	buf_done(&t.text);
}

TEST(too_many_parts_are_refused)
{
	AUTO(buf_done) struct buf body = BUF(1024 * 1024);
	struct told t = {BUF(1024 * 1024)};

	for (unsigned i = 0; i <= MULTIPART_PARTS_MAX; i++)
		buf_add_text(&body, "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n");
	buf_add_text(&body, "--XX--");
	assert_null(parse(&t, TYPE, buf_span(&body), 5000));
	buf_done(&t.text);
}

TEST(large_parts_pass_through_in_constant_memory)
{
	AUTO(buf_done) struct buf body = BUF(4 * 1024 * 1024);
	struct told t = {BUF(4 * 1024 * 1024)};
	const char *told;

	buf_add_text(&body, "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n");
	for (unsigned i = 0; i < 200000; i++)
		buf_add_text(&body, "\r\n--X bytes");
	buf_add_text(&body, "\r\n--XX--");
	told = parse(&t, TYPE, buf_span(&body), 65536);
	assert_non_null(told);
	assert_int_equal(strlen(told), 5 + 200000 * 11);
	buf_done(&t.text);
}

int main(void)
{
	return RUN(CASE(a_form_is_told_part_by_part_however_it_is_cut),
	           CASE(a_preamble_is_passed_over), CASE(an_empty_part_has_no_bytes),
	           CASE(quotes_in_names_are_unescaped_and_backslashes_stay),
	           CASE(what_is_no_form_is_refused), CASE(a_broken_body_is_refused),
	           CASE(a_head_without_end_is_refused_before_it_fills_memory),
	           CASE(too_many_parts_are_refused),
	           CASE(large_parts_pass_through_in_constant_memory));
}
