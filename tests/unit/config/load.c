/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "config/idle_variables.h"
#include "loading.h"

static void assert_file_refused(const char *text, const char *why)
{
	AUTO(loading_done) struct loading l = loading_new();
	AUTO(buf_done) struct buf expected = BUF(512);

	loading_write(&l, text);
	assert_int_equal(loading_run(&l), -1);
	buf_addf(&expected, "%s%s", l.file, why);
	assert_string_equal(l.err.text, buf_text(&expected));
	assert_int_equal(l.err.code, ERROR_INVALID);
}

TEST(without_any_source_the_defaults_hold)
{
	AUTO(loading_done) struct loading l = loading_new();

	assert_int_equal(loading_run(&l), 0);
	assert_string_equal(l.config.data_dir, l.folder);
	assert_string_equal(l.config.listen, "127.0.0.1:7777");
	assert_string_equal(l.config.provider, "native");
	assert_string_equal(l.config.default_template, "base");
	assert_true(l.config.user[0] != '\0');
	assert_true(l.config.defaults.cpu > 0.49 && l.config.defaults.cpu < 0.51);
	assert_int_equal(l.config.defaults.memory_mb, 1024);
	assert_int_equal(l.config.defaults.disk_mb, 1024);
	assert_int_equal(l.config.defaults.pids, 512);
	assert_int_equal(l.config.caps.pids, 0);
	assert_int_equal(l.config.sessions_max, 50);
	assert_int_equal(l.config.output_limit_bytes, 256 * 1024);
	assert_int_equal(l.config.timeouts.idle_reap_ms, 1800000);
	assert_int_equal(l.config.session_idle_ms, 900000);
	assert_int_equal(l.config.timeouts.lifetime_max_ms, INT64_C(604800000));
	assert_int_equal(l.config.cells, 8);
}

TEST(a_flag_wins_over_the_environment_and_that_over_the_file)
{
	AUTO(loading_done) struct loading l = loading_new();

	loading_write(&l, "# ours\nworkers: 3\ncells: 3\nsessions_max: 3\nidle_reap: 3m\n");
	loading_add_variable(&l, "ATOLL_CELLS=4");
	loading_add_variable(&l, "ATOLL_SESSIONS_MAX=4");
	loading_add_variable(&l, "ATOLL_IDLE_REAP=");
	l.flags[1] = "sessions-max=5";
	assert_int_equal(loading_run(&l), 0);
	assert_int_equal(l.config.workers, 3);
	assert_int_equal(l.config.cells, 4);
	assert_int_equal(l.config.sessions_max, 5);
	assert_int_equal(l.config.timeouts.idle_reap_ms, 180000);
}

TEST(the_neutral_names_count_when_ours_is_not_set)
{
	AUTO(loading_done) struct loading l = loading_new();

	loading_add_variable(&l, "SANDBOX_DEFAULT_CPU=2");
	loading_add_variable(&l, "SANDBOX_IDLE_TIMEOUT=60");
	loading_add_variable(&l, "SANDBOX_MAX_SESSIONS=7");
	loading_add_variable(&l, "ATOLL_SESSIONS_MAX=8");
	assert_int_equal(loading_run(&l), 0);
	assert_true(l.config.defaults.cpu > 1.9);
	assert_int_equal(l.config.session_idle_ms, 60000);
	assert_int_equal(l.config.sessions_max, 8);
}

TEST(a_neutral_name_may_say_that_it_counts_milliseconds)
{
	AUTO(loading_done) struct loading l = loading_new();

	loading_add_variable(&l, "SANDBOX_IDLE_TIMEOUT_MS=1500");
	loading_add_variable(&l, "SANDBOX_IDLE_STOP_SECONDS=90");
	loading_add_variable(&l, "AGENT_RUN_TIMEOUT_MS=604800000");
	assert_int_equal(loading_run(&l), 0);
	assert_int_equal(l.config.timeouts.lifetime_max_ms, INT64_C(7) * 24 * 3600 * 1000);
	assert_int_equal(l.config.timeouts.idle_pause_ms, 1500);
	assert_int_equal(l.config.timeouts.idle_stop_ms, 90000);
}

TEST(such_a_name_takes_another_unit_too_and_refuses_nonsense)
{
	AUTO(loading_done) struct loading given = loading_new();
	AUTO(loading_done) struct loading wrong = loading_new();

	loading_add_variable(&given, "SANDBOX_IDLE_TIMEOUT_MS=2m");
	assert_int_equal(loading_run(&given), 0);
	assert_int_equal(given.config.timeouts.idle_pause_ms, 120000);
	loading_add_variable(&wrong, "SANDBOX_IDLE_TIMEOUT_MS=-5");
	assert_int_equal(loading_run(&wrong), -1);
	assert_non_null(strstr(wrong.err.text, "SANDBOX_IDLE_TIMEOUT_MS"));
}

TEST(words_of_other_software_choose_docker_and_its_memory)
{
	static const struct {
		const char *variable;
		const char *provider;
		int64_t memory_mb;
	} cases[] = {
	        {"SANDBOX_BACKEND=docker", "docker", 1024},
	        {"SANDBOX_EXECUTOR=docker-direct", "docker", 1024},
	        {"SANDBOX_EXECUTOR=agent", "native", 1024},
	        {"SANDBOX_MEM_LIMIT=512m", "native", 512},
	        {"SANDBOX_MEM_LIMIT=2G", "native", 2048},
	        {"SANDBOX_MEM_LIMIT=1048576k", "native", 1024},
	        {"SANDBOX_MEM_LIMIT=134217728", "native", 128},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO(loading_done) struct loading l = loading_new();

		loading_add_variable(&l, cases[i].variable);
		assert_int_equal(loading_run(&l), 0);
		assert_string_equal(l.config.provider, cases[i].provider);
		assert_int_equal(l.config.defaults.memory_mb, cases[i].memory_mb);
	}
}

TEST(such_words_count_less_than_our_own_and_nonsense_is_refused)
{
	AUTO(loading_done) struct loading ours = loading_new();
	AUTO(loading_done) struct loading wrong = loading_new();

	loading_add_variable(&ours, "SANDBOX_BACKEND=docker");
	loading_add_variable(&ours, "SANDBOX_PROVIDER=host");
	loading_add_variable(&ours, "SANDBOX_MEM_LIMIT=512m");
	loading_add_variable(&ours, "SANDBOX_DEFAULT_MEMORY_MB=64");
	assert_int_equal(loading_run(&ours), 0);
	assert_string_equal(ours.config.provider, "host");
	assert_int_equal(ours.config.defaults.memory_mb, 64);
	loading_add_variable(&wrong, "SANDBOX_MEM_LIMIT=many");
	assert_int_equal(loading_run(&wrong), -1);
	assert_non_null(strstr(wrong.err.text, "SANDBOX_MEM_LIMIT"));
}

TEST(errors_of_the_file_name_the_line_and_what_would_be_right)
{
	assert_file_refused("workers: 4\n\ncelss: 1\n",
	                    ":3: 'celss' is not an option; did you mean 'cells'?");
	assert_file_refused("nothing_like_it: 1\n", ":1: 'nothing_like_it' is not an option");
	assert_file_refused("workers: many\n",
	                    ":1: workers: expected a whole number, from 2 to 256");
	assert_file_refused("cells: 1\ncells: 2\n", ":2: 'cells' was given in line 1 already");
	assert_file_refused("data: /elsewhere\n",
	                    ":1: data: a file inside the data folder cannot name it");
}

TEST(only_flat_yaml_is_understood)
{
	assert_file_refused("- a\n", ":1: expected lines of 'name: value'");
	assert_file_refused("just text\n", ":1: expected lines of 'name: value'");
	assert_file_refused("cells:\n  - 1\n", ":2: expected 'name: value'");
	assert_file_refused("cells: &a 1\nworkers: *a\n", ":2: expected 'name: value'");
	assert_file_refused("cells: 1\n---\nworkers: 4\n", ":2: expected one document only");
	assert_file_refused("cells: \"\\0\"\n", ":1: NUL is not allowed");
	assert_file_refused("cells: 1\nworkers: 'x", ":2: found unexpected end of stream");
}

TEST(an_empty_file_says_nothing)
{
	AUTO(loading_done) struct loading l = loading_new();

	loading_write(&l, "");
	assert_int_equal(loading_run(&l), 0);
	loading_write(&l, "# only a comment\n");
	assert_int_equal(loading_run(&l), 0);
}

TEST(a_file_that_is_named_must_exist_and_may_name_the_data_folder)
{
	AUTO(loading_done) struct loading l = loading_new();
	struct config_source source = {.file = l.file};

	assert_int_equal(config_load(&l.arena, &source, &l.config, &l.err), -1);
	assert_int_equal(l.err.code, ERROR_NOT_FOUND);
	loading_write(&l, "data: /srv/./atoll\n");
	assert_int_equal(config_load(&l.arena, &source, &l.config, &l.err), 0);
	assert_string_equal(l.config.data_dir, "/srv/atoll");
}

TEST(errors_of_flags_and_variables_name_them)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = "worker=4";
	assert_int_equal(loading_run(&l), -1);
	assert_string_equal(l.err.text,
	                    "command line: '--worker' is not an option; did you mean '--workers'?");
	l.flags[1] = "log_levle=debug";
	assert_int_equal(loading_run(&l), -1);
	assert_string_equal(
	        l.err.text,
	        "command line: '--log-levle' is not an option; did you mean '--log-level'?");
	l.flags[1] = "log_level=debug"; /* as good as log-level */
	assert_int_equal(loading_run(&l), 0);
	assert_string_equal(l.config.log_level, "debug");
	l.flags[1] = "log-level=loud";
	assert_int_equal(loading_run(&l), -1);
	assert_string_equal(l.err.text, "--log-level: expected one of error, warning, info, debug");
	l.flags[1] = "workers";
	assert_int_equal(loading_run(&l), -1);
	assert_string_equal(l.err.text, "--workers: expected --workers=VALUE");
	l.flags[1] = NULL;
	loading_add_variable(&l, "SANDBOX_MAX_CPU=-1");
	assert_int_equal(loading_run(&l), -1);
	assert_string_equal(l.err.text, "SANDBOX_MAX_CPU: expected a number from 0 to 1024");
}

TEST(variables_without_effect_are_named)
{
	char *environment[] = {(char[]){"SANDBOX_PREVIEW_PROXY_HOST=docker.lan"},
	                       (char[]){"SANDBOX_CONSOLE_URL="},
	                       (char[]){"SANDBOX_BASE_IMAGES=no such variable"},
	                       (char[]){"SANDBOX_SNAPSHOT_CONTAINER=here"}, NULL};
	const struct config_idle_variable *v = config_idle_variable_next(environment, NULL);

	assert_string_equal(v->name, "SANDBOX_PREVIEW_PROXY_HOST");
	assert_non_null(strstr(v->because, "no port of a container is published"));
	v = config_idle_variable_next(environment, v);
	assert_string_equal(v->name, "SANDBOX_SNAPSHOT_CONTAINER");
	assert_null(config_idle_variable_next(environment, v));
	assert_null(config_idle_variable_next(NULL, NULL));
}

TEST(the_data_folder_is_made_absolute)
{
	AUTO(loading_done) struct loading l = loading_new();
	AUTO_FREE char *here = getcwd(NULL, 0);
	AUTO(buf_done) struct buf expected = BUF(4096);
	struct config_source source = {.flags = (const char *const[]){"data=some/where", NULL}};

	assert_int_equal(config_load(&l.arena, &source, &l.config, &l.err), 0);
	buf_addf(&expected, "%s/some/where", here);
	assert_string_equal(l.config.data_dir, buf_text(&expected));
}

TEST(the_data_folder_of_others_than_root_is_in_their_home)
{
	AUTO(loading_done) struct loading l = loading_new();
	uid_t me = geteuid();
	const char *found = NULL;

	if (me == 0) {
		assert_int_equal(config_data_dir_default(&l.arena, l.environment, &found, &l.err),
		                 0);
		assert_string_equal(found, "/var/lib/atoll");
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(config_data_dir_default(&l.arena, l.environment, &found, &l.err), -1);
	assert_int_equal(l.err.code, ERROR_INVALID);
	assert_non_null(strstr(l.err.text, "ATOLL_DATA"));
	loading_add_variable(&l, "HOME=/home/ann");
	loading_add_variable(&l, "XDG_DATA_HOME=relative");
	assert_int_equal(config_data_dir_default(&l.arena, l.environment, &found, &l.err), 0);
	assert_string_equal(found, "/home/ann/.local/share/atoll");
	l.variables = 1;
	loading_add_variable(&l, "XDG_DATA_HOME=/data/ann");
	assert_int_equal(config_data_dir_default(&l.arena, l.environment, &found, &l.err), 0);
	assert_string_equal(found, "/data/ann/atoll");
	assert_int_equal(seteuid(me), 0);
}

TEST(nothing_is_returned_when_loading_fails)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = "workers=0";
	assert_int_equal(loading_run(&l), -1);
	assert_null(l.config.listen);
}

int main(void)
{
	return RUN(CASE(without_any_source_the_defaults_hold),
	           CASE(a_flag_wins_over_the_environment_and_that_over_the_file),
	           CASE(the_neutral_names_count_when_ours_is_not_set),
	           CASE(a_neutral_name_may_say_that_it_counts_milliseconds),
	           CASE(such_a_name_takes_another_unit_too_and_refuses_nonsense),
	           CASE(words_of_other_software_choose_docker_and_its_memory),
	           CASE(such_words_count_less_than_our_own_and_nonsense_is_refused),
	           CASE(errors_of_the_file_name_the_line_and_what_would_be_right),
	           CASE(only_flat_yaml_is_understood), CASE(an_empty_file_says_nothing),
	           CASE(a_file_that_is_named_must_exist_and_may_name_the_data_folder),
	           CASE(errors_of_flags_and_variables_name_them),
	           CASE(variables_without_effect_are_named), CASE(the_data_folder_is_made_absolute),
	           CASE(the_data_folder_of_others_than_root_is_in_their_home),
	           CASE(nothing_is_returned_when_loading_fails));
}
