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
	/* The comments differ: they name the source. */
	buf_reset(&out);
	config_write(&out, &first.config);
	config_write(&again, &second.config);
	assert_string_equal(buf_text(&out), buf_text(&again));
}

static enum config_origin origin_of(const struct loading *l, const char *name)
{
	for (const struct config_option *o = config_options; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return config_origin_of(&l->config, o);
	fail_msg("no option '%s'", name);
	return CONFIG_ORIGIN_COUNT;
}

TEST(each_option_knows_the_source_that_applied)
{
	AUTO(loading_done) struct loading l = loading_new();
	AUTO(buf_done) struct buf out = BUF(65536);

	loading_write(&l, "workers: 8\nidle_reap: 90s\nbody_max: 8192\n");
	loading_add_variable(&l, "ATOLL_IDLE_REAP=80s");
	loading_add_variable(&l, "SANDBOX_DEFAULT_CPU=0.25");
	loading_add_variable(&l, "ATOLL_BODY_MAX=9000");
	l.flags[1] = "body_max=16384";
	assert_int_equal(loading_run(&l), 0);
	assert_int_equal(origin_of(&l, "workers"), CONFIG_FROM_FILE);
	assert_int_equal(origin_of(&l, "idle_reap"), CONFIG_FROM_ENVIRONMENT);
	assert_int_equal(origin_of(&l, "default_cpu"), CONFIG_FROM_ENVIRONMENT);
	assert_int_equal(origin_of(&l, "body_max"), CONFIG_FROM_FLAG);
	assert_int_equal(origin_of(&l, "data"), CONFIG_FROM_FLAG);
	assert_int_equal(origin_of(&l, "log_level"), CONFIG_FROM_DEFAULT);
	config_print(&out, &l.config);
	assert_non_null(strstr(buf_text(&out), "; set in the file\nworkers: 8\n"));
	assert_non_null(strstr(buf_text(&out), "; set by a flag\nbody_max: 16K\n"));
}

TEST(origins_of_another_process_apply_if_they_fit_the_table)
{
	AUTO(loading_done) struct loading first = loading_new(), second = loading_new();
	struct config_source source = {.flags = second.flags};

	first.flags[1] = "workers=8";
	assert_int_equal(loading_run(&first), 0);
	source.origins = first.config.origins;
	assert_int_equal(config_load(&second.arena, &source, &second.config, &second.err), 0);
	assert_int_equal(origin_of(&second, "workers"), CONFIG_FROM_FLAG);
	source.origins = "fff";
	assert_int_equal(config_load(&second.arena, &source, &second.config, &second.err), 0);
	assert_int_equal(origin_of(&second, "workers"), CONFIG_FROM_DEFAULT);
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
	           CASE(each_option_knows_the_source_that_applied),
	           CASE(origins_of_another_process_apply_if_they_fit_the_table),
	           CASE(a_password_is_printed_as_asterisks_and_kept_for_our_own_processes),
	           CASE(every_option_is_documented));
}
