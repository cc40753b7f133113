/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/terminal/terminal.h"

TEST(a_quoted_line_runs_exactly_these_words)
{
	AUTO(arena_done) struct arena arena = {.blocks = NULL};
	const char *const words[] = {"echo", "it's", "$HOME `x`", "", NULL};

	assert_string_equal(terminal_quote(&arena, words), "exec 'echo' 'it'\\''s' '$HOME `x`' ''");
}

int main(void)
{
	return RUN(CASE(a_quoted_line_runs_exactly_these_words));
}
