/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "loading.h"

TEST(what_is_printed_can_be_read_back)
{
	AUTO(loading_done) struct loading first = loading_new(), second = loading_new();
	AUTO(buf_done) struct buf out = BUF(65536), again = BUF(65536);

	first.flags[1] = "debug=it's";
	first.flags[2] = "idle_reap=90s";
	first.flags[3] = "body_max=1536";
	first.flags[4] = "default_cpu=0.1";
	assert_int_equal(loading_run(&first), 0);
	config_print(&out, &first.config);
	assert_non_null(strstr(buf_text(&out), "\nidle_reap: 90s\n"));
	assert_non_null(strstr(buf_text(&out), "\nlifetime_max: 7d\n"));
	assert_non_null(strstr(buf_text(&out), "\nbody_max: 1536\n"));
	assert_non_null(strstr(buf_text(&out), "\ndebug: 'it''s'\n"));

	loading_write(&second, buf_text(&out));
	assert_int_equal(config_load(&second.arena, &(struct config_source){.file = second.file},
	                             &second.config, &second.err),
	                 0);
	config_print(&again, &second.config);
	assert_string_equal(buf_text(&out), buf_text(&again));
}

TEST(every_option_is_documented)
{
	AUTO(buf_done) struct buf out = BUF(65536);

	config_print_reference(&out);
	for (const struct config_option *o = config_options; o->name; o++) {
		AUTO(buf_done) struct buf row = BUF(64);

		buf_add_text(&row, "| `");
		config_add_flag(&row, o);
		buf_addf(&row, "` | `%s` |", o->name);
		assert_non_null(strstr(buf_text(&out), buf_text(&row)));
		assert_non_null(o->about);
	}
	assert_non_null(strstr(buf_text(&out), "| `--log-level` | `log_level` | `info` |"));
	assert_non_null(strstr(buf_text(&out), "`ATOLL_SESSIONS_MAX` `SANDBOX_MAX_SESSIONS`"));
	assert_false(out.overflowed);
}

int main(void)
{
	return RUN(CASE(what_is_printed_can_be_read_back), CASE(every_option_is_documented));
}
