/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include "config/option.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define PARSE(...)                                                                                 \
	parse((char *[]){(char[]){"atolld"}, __VA_ARGS__, NULL},                                   \
	      (int)COUNT_OF(((char *[]){NULL, __VA_ARGS__})))

static struct arena arena;
static struct daemon_options options;
static struct error err;

static int parse(char **argv, int argc)
{
	arena_reset(&arena);
	return daemon_options_parse(&arena, argc, argv, &options, &err);
}

TEST(options_of_the_configuration_become_flags)
{
	assert_int_equal(PARSE((char[]){"--listen"}, (char[]){"127.0.0.1:1"},
	                       (char[]){"--log-level=debug"}, (char[]){"--network_allow="}),
	                 0);
	assert_string_equal(options.flags[0], "listen=127.0.0.1:1");
	assert_string_equal(options.flags[1], "log_level=debug");
	assert_string_equal(options.flags[2], "network_allow=");
	assert_null(options.flags[3]);
	assert_int_equal(options.role, ROLE_SUPERVISOR);
	assert_int_equal(options.key_fd, -1);
}

TEST(a_value_keeps_its_dashes_and_equal_signs)
{
	assert_int_equal(PARSE((char[]){"--data=/a-b=c"}), 0);
	assert_string_equal(options.flags[0], "data=/a-b=c");
}

TEST(the_supervisor_hands_descriptors_over)
{
	assert_int_equal(PARSE((char[]){"--role"}, (char[]){"api"}, (char[]){"--listen-fd"},
	                       (char[]){"8"}, (char[]){"--listen-fd"}, (char[]){"9"},
	                       (char[]){"--key-fd"}, (char[]){"7"}, (char[]){"--ready-fd=6"},
	                       (char[]){"--config"}, (char[]){"/proc/self/fd/5"}),
	                 0);
	assert_int_equal(options.role, ROLE_API);
	assert_int_equal(options.listen_count, 2);
	assert_int_equal(options.listen_fds[1], 9);
	assert_int_equal(options.key_fd, 7);
	assert_int_equal(options.ready_fd, 6);
	assert_string_equal(options.config_file, "/proc/self/fd/5");
	assert_null(options.flags[0]);
}

TEST(the_gateway_for_names_is_handed_its_descriptors)
{
	assert_int_equal(PARSE((char[]){"--role=names"}, (char[]){"--names-fd=3"},
	                       (char[]){"--names-fd=4"}, (char[]){"--names-fd=5"},
	                       (char[]){"--names-fd=6"}),
	                 0);
	assert_int_equal(options.role, ROLE_NAMES);
	assert_int_equal(options.names_count, NAMES_FDS);
	assert_int_equal(options.names_fds[NAMES_FDS - 1], 6);
	assert_int_equal(PARSE((char[]){"--names-fd=3"}, (char[]){"--names-fd=4"},
	                       (char[]){"--names-fd=5"}, (char[]){"--names-fd=6"},
	                       (char[]){"--names-fd=7"}),
	                 -1);
}

TEST(what_is_no_option_is_refused)
{
	assert_int_equal(PARSE((char[]){"serve"}), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(PARSE((char[]){"--listen"}), -1);
	assert_int_equal(PARSE((char[]){"--role=boss"}), -1);
	assert_int_equal(PARSE((char[]){"--key-fd=x"}), -1);
	assert_int_equal(PARSE((char[]){"--key-fd=1"}), -1);
	assert_int_equal(PARSE((char[]){"--listen-fd=3"}, (char[]){"--listen-fd=4"},
	                       (char[]){"--listen-fd=5"}, (char[]){"--listen-fd=6"},
	                       (char[]){"--listen-fd=7"}),
	                 -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

TEST(the_switches_are_seen_anywhere)
{
	assert_int_equal(PARSE((char[]){"--data=/x"}, (char[]){"--version"}), 0);
	assert_true(options.version);
	assert_int_equal(PARSE((char[]){"--help"}), 0);
	assert_true(options.help);
	assert_int_equal(PARSE((char[]){"--openapi"}), 0);
	assert_true(options.openapi);
}

TEST(the_help_names_every_option)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	daemon_options_help(&text);
	for (const struct config_option *o = config_options; o->name; o++) {
		AUTO(buf_done) struct buf flag = BUF(64);

		config_add_flag(&flag, o);
		assert_non_null(strstr(buf_text(&text), buf_text(&flag)));
	}
	assert_null(strstr(buf_text(&text), "listen-fd"));
}

TEST(what_the_supervisor_writes_the_api_process_reads_back)
{
	AUTO(buf_done) struct buf text = BUF(256 * 1024);
	struct config first, second;
	struct daemon_options again = {.config_file = NULL};
	char path[] = "/tmp/atoll-config-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(PARSE((char[]){"--data=/tmp/a b"}, (char[]){"--cells=3"},
	                       (char[]){"--internet=false"}, (char[]){"--idle-reap=90s"},
	                       (char[]){"--network-allow=10.0.0.0/8"},
	                       (char[]){"--default_cpu=1.5"}),
	                 0);
	assert_int_equal(daemon_config_load(&arena, &options, &first, &err), 0);
	config_write(&text, &first);
	assert_int_equal(write(fd, text.data, text.size), text.size);
	close(fd);
	again.config_file = path;
	again.flags = (const char *[]){"data=/tmp/a b", NULL};
	assert_int_equal(daemon_config_load(&arena, &again, &second, &err), 0);
	unlink(path);
	assert_string_equal(second.data_dir, first.data_dir);
	assert_string_equal(second.network_allow, "10.0.0.0/8");
	assert_int_equal(second.cells, 3);
	assert_int_equal(second.timeouts.idle_reap_ms, 90000);
	assert_int_equal(second.exec_timeout_ms, first.exec_timeout_ms);
	assert_false(second.internet);
	assert_true(second.defaults.cpu > 1.4 && second.defaults.cpu < 1.6);
}

int main(void)
{
	int result = RUN(CASE(options_of_the_configuration_become_flags),
	                 CASE(a_value_keeps_its_dashes_and_equal_signs),
	                 CASE(the_supervisor_hands_descriptors_over),
	                 CASE(the_gateway_for_names_is_handed_its_descriptors),
	                 CASE(what_is_no_option_is_refused), CASE(the_switches_are_seen_anywhere),
	                 CASE(the_help_names_every_option),
	                 CASE(what_the_supervisor_writes_the_api_process_reads_back));

	arena_done(&arena);
	return result;
}
