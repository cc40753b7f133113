/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/server/commands.h"
#include "cli/server/server_options.h"

TEST(the_servers_options_are_the_commands_options)
{
	AUTO(arena_done) struct arena arena = {.blocks = NULL};
	struct cli_arguments args;
	struct error err;
	char **flags;

	assert_int_equal(arguments_parse(&arena, &command_serve,
	                                 (const char *const[]){"--data", "/d", "--idle_exit=5m",
	                                                       "--json", "--config", "f", NULL},
	                                 &args, &err),
	                 0);
	flags = server_options_flags(&arena, &args, "--");
	assert_string_equal(flags[1], "--data=/d");
	assert_string_equal(flags[2], "--idle-exit=5m");
	assert_string_equal(flags[3], "--config=f");
	assert_null(flags[4]);
	assert_int_equal(arguments_parse(&arena, &command_serve,
	                                 (const char *const[]){"--no-such", "1", NULL}, &args,
	                                 &err),
	                 -1);
}

int main(void)
{
	return RUN(CASE(the_servers_options_are_the_commands_options));
}
