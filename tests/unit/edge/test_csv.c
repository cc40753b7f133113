/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/csv.h"
#include "unit.h"

static void assert_cell(const char *text, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(256);

	csv_text(&out, text);
	assert_string_equal(buf_text(&out), expected);
}

TEST(rows_are_separated_as_rfc_4180_has_it)
{
	AUTO(buf_done) struct buf out = BUF(256);

	csv_text(&out, "run");
	csv_text(&out, "usd");
	csv_end(&out);
	csv_text(&out, "");
	csv_number(&out, 1.5, 6);
	csv_end(&out);
	assert_string_equal(buf_text(&out), "\"run\",\"usd\"\r\n\"\",1.500000\r\n");
}

TEST(quotes_are_doubled_and_commas_and_lines_are_kept)
{
	assert_cell("a\"b", "\"a\"\"b\"");
	assert_cell("a,b\r\nc", "\"a,b\r\nc\"");
}

TEST(what_a_spreadsheet_would_run_gets_an_apostrophe)
{
	assert_cell("=1+1", "\"'=1+1\"");
	assert_cell("+1", "\"'+1\"");
	assert_cell("-1", "\"'-1\"");
	assert_cell("@SUM(A1)", "\"'@SUM(A1)\"");
	assert_cell("\tx", "\"'\tx\"");
	assert_cell("\rx", "\"'\rx\"");
	assert_cell("a=1", "\"a=1\"");
}

int main(void)
{
	return RUN(CASE(rows_are_separated_as_rfc_4180_has_it),
	           CASE(quotes_are_doubled_and_commas_and_lines_are_kept),
	           CASE(what_a_spreadsheet_would_run_gets_an_apostrophe));
}
