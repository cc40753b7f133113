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

TEST(a_password_is_printed_as_asterisks_and_kept_for_our_own_processes)
{
	static const struct {
		const char *value, *shown;
	} cases[] = {
	        {"postgresql://me:hunter2@db/name", "postgresql://me:****@db/name"},
	        {"postgresql://me:hun@te/r2?@db/name?sslmode=require",
	         "postgresql://me:****@db/name?sslmode=require"},
	        {"postgresql://me@db:5432/name?password=hunter2&sslmode=require",
	         "postgresql://me@db:5432/name?password=****&sslmode=require"},
	        {"postgres://db/name?pass%77ord=hunter2&options=-csearch_path%3Da",
	         "postgres://db/name?pass%77ord=****&options=-csearch_path%3Da"},
	        {"postgresql://db/name?password=hunter2@x", "postgresql://db/name?password=****"},
	        {"postgresql:host=/run password=hunter2 dbname=n",
	         "postgresql:host=/run password=**** dbname=n"},
	        {"postgresql:password='it\\' hunter2' user='a b'",
	         "postgresql:password=**** user='a b'"},
	        {"postgresql:password=a hunter2", "postgresql:password=**** ****"},
	        {"postgresql:sslpassword=hunter2", "postgresql:sslpassword=****"},
	        {"postgresql:password='hunter2", "postgresql:password=****"},
	        {"sqlite:/srv/a:b@c.db", "sqlite:/srv/a:b@c.db"},
	        {"", ""},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO(loading_done) struct loading l = loading_new();
		AUTO(buf_done) struct buf shown = BUF(65536), whole = BUF(65536), line = BUF(256);
		AUTO(buf_done) struct buf harmless = BUF(65536);

		assert_int_equal(loading_run(&l), 0);
		l.config.store = cases[i].value;
		config_print(&shown, &l.config);
		config_write(&whole, &l.config);
		config_write_harmless(&harmless, &l.config);
		assert_null(strstr(buf_text(&shown), "hunter2"));
		assert_null(strstr(buf_text(&harmless), "\nstore: "));
		assert_null(strstr(buf_text(&harmless), "\npreview_secret: "));
		assert_non_null(strstr(buf_text(&harmless), "\nnetwork_subnet: "));
		assert_int_equal(strstr(buf_text(&whole), "hunter2") != NULL,
		                 strstr(cases[i].value, "hunter2") != NULL);
		for (const struct config_option *o = config_options; o->name; o++)
			if (strcmp(o->name, "store") == 0)
				config_print_text(&line, o, &l.config);
		assert_string_equal(buf_text(&line), cases[i].shown);
	}
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
	return RUN(CASE(what_is_printed_can_be_read_back),
	           CASE(a_password_is_printed_as_asterisks_and_kept_for_our_own_processes),
	           CASE(every_option_is_documented));
}
