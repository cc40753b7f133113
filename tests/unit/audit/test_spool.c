/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the spool: what was written is read again, and damaged lines are refused. */
#include "unit.h"

#include "audit/log/parts.h"

static const struct audit_row sample = {
        .at = 1790000000000,
        .status = 200,
        .id = "event",
        .node = "node",
        .version = "1",
        .project_id = "p",
        .user_id = "",
        .key_id = "k",
        .via = "key",
        .address = "127.0.0.1",
        .user_agent = "a b",
        .action = "x.y",
        .method = "POST",
        .path = "/é",
        .target_kind = "",
        .target_id = "",
        .conversation = "",
        .result = "ok",
        .before_json = "{\"a\":\"b c\"}",
        .after_json = "",
        .request_id = "r",
};

TEST(a_line_is_read_as_it_was_written)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf line = BUF(AUDIT_LINE_MAX), first = BUF(AUDIT_LINE_MAX),
	                          second = BUF(AUDIT_LINE_MAX);
	struct audit_row row;
	char kind;

	spool_line_write(&line, SPOOL_ROW, &sample);
	assert_true(spool_line_parse(&a, (struct span){line.data, line.size - 1}, &kind, &row));
	assert_int_equal(kind, SPOOL_ROW);
	audit_row_write(&first, &sample);
	audit_row_write(&second, &row);
	assert_string_equal(buf_text(&first), buf_text(&second));
}

TEST(a_part_of_a_line_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf line = BUF(AUDIT_LINE_MAX);
	struct audit_row row;
	char kind;

	spool_line_write(&line, SPOOL_INTENT, &sample);
	/* Without its last field a line has one field too few; a cut last field is only shorter. */
	for (size_t size = 0; size + 3 < line.size; size++)
		assert_false(spool_line_parse(&a, (struct span){line.data, size}, &kind, &row));
}

TEST(damaged_bytes_are_refused)
{
	AUTO(arena_done) struct arena a = {0};
	char zeroes[256] = {0};
	struct audit_row row;
	char kind;

	assert_false(spool_line_parse(&a, (struct span){zeroes, sizeof(zeroes)}, &kind, &row));
	assert_false(spool_line_parse(&a, span_of("E\t1\t2"), &kind, &row));
	assert_false(spool_line_parse(&a, span_of(""), &kind, &row));
	assert_false(spool_line_parse(&a,
	                              span_of("E\t-1\t200\ta\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm"
	                                      "\tn\to\tp\tq\tr\ts"),
	                              &kind, &row));
	assert_true(spool_line_parse(&a,
	                             span_of("E\t1\t200\ta\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm"
	                                     "\tn\to\tp\tq\tr\ts"),
	                             &kind, &row));
	assert_false(spool_line_parse(&a,
	                              span_of("X\t1\t200\ta\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm"
	                                      "\tn\to\tp\tq\tr\ts"),
	                              &kind, &row));
	assert_false(spool_line_parse(&a,
	                              span_of("E\t1\t200\ta\xff\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl"
	                                      "\tm\tn\to\tp\tq\tr\ts"),
	                              &kind, &row));
}

int main(void)
{
	return RUN(CASE(a_line_is_read_as_it_was_written), CASE(a_part_of_a_line_is_refused),
	           CASE(damaged_bytes_are_refused));
}
