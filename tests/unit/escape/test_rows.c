/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "escape/attempt.h"

static const struct attempt_function *const tables[] = {mount_attempts,     process_attempts,
                                                        kernel_attempts,    network_attempts,
                                                        neighbour_attempts, limit_attempts};

static bool has_function(const char *id)
{
	for (unsigned t = 0; t < COUNT_OF(tables); t++)
		for (const struct attempt_function *f = tables[t]; f->id; f++)
			if (strcmp(f->id, id) == 0)
				return true;
	return false;
}

TEST(each_row_has_a_function_or_is_made_by_the_api)
{
	for (const struct escape_row *row = escape_rows; row->id; row++)
		assert_int_equal(has_function(row->id), !(row->flags & ESCAPE_BY_API));
}

TEST(each_function_has_a_row)
{
	for (unsigned t = 0; t < COUNT_OF(tables); t++)
		for (const struct attempt_function *f = tables[t]; f->id; f++) {
			bool is_found = false;

			for (const struct escape_row *row = escape_rows; row->id; row++)
				is_found |= strcmp(row->id, f->id) == 0;
			assert_true(is_found);
		}
}

TEST(rows_are_whole_and_have_names_of_their_own)
{
	for (unsigned i = 0; i < escape_row_count(); i++) {
		assert_true(strlen(escape_rows[i].title) > 0 && strlen(escape_rows[i].tries) > 0);
		assert_true(strlen(escape_rows[i].success) > 0);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(escape_rows[i].id, escape_rows[k].id);
	}
}

TEST(statuses_are_those_of_the_worst)
{
	static const enum escape_status mixed[] = {ESCAPE_HELD, ESCAPE_THROUGH, ESCAPE_HELD};

	assert_int_equal(worst_of(mixed, 3), ESCAPE_THROUGH);
	assert_int_equal(worst_of(mixed, 1), ESCAPE_HELD);
	assert_int_equal(expect_refused(-1, "a call"), ESCAPE_HELD);
	assert_int_equal(expect_refused(0, "a call"), ESCAPE_THROUGH);
	assert_int_equal(expect_no_open("/dev/null", O_RDONLY), ESCAPE_THROUGH);
	assert_int_equal(connect_to_list("127.0.0.1:1,nonsense,:,a:b,"), ESCAPE_HELD);
}

TEST(what_would_harm_this_machine_is_refused)
{
	static const char *const ids[] = {"signal_the_agent", "unmount_masks", "no_such_attempt"};

	for (unsigned i = 0; i < COUNT_OF(ids); i++) {
		char program[] = "", name[32];

		(void)snprintf(name, sizeof(name), "%s", ids[i]);
		assert_int_equal(escape_main(2, (char *[]){program, name, NULL}), ESCAPE_NOT_TRIED);
	}
}

int main(void)
{
	return RUN(CASE(each_row_has_a_function_or_is_made_by_the_api),
	           CASE(each_function_has_a_row), CASE(rows_are_whole_and_have_names_of_their_own),
	           CASE(statuses_are_those_of_the_worst),
	           CASE(what_would_harm_this_machine_is_refused));
}
