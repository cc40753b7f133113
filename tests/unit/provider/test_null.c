/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "provider/templates.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define SANDBOX "abcdefghijklmnopqrst"

static struct provider *open_null(void)
{
	struct provider_options options = {0};
	struct provider *p = NULL;
	struct error err = {0};

	assert_int_equal(provider_find("null")->open(&options, &p, &err), 0);
	return p;
}

static struct provider *open_with_one(void)
{
	struct provider *p = open_null();
	struct sandbox_spec spec = {.id = SANDBOX, .resources = SANDBOX_BUILT_IN_RESOURCES};
	struct provider_created created;
	struct error err = {0};

	assert_int_equal(provider_ops_of(p)->create(p, &spec, DEADLINE_NEVER, &created, &err), 0);
	return p;
}

static int64_t run(struct provider *p, const char **args, const char *input, char out[64])
{
	struct arena a = {0};
	struct agent_exec exec = {.args = args, .stdin_bytes = span_of(input)};
	struct compute_run options = {&exec, 63, deadline_after(5000)};
	struct compute_result result;
	struct error err = {0};

	if (compute_run(p, SANDBOX, &a, &options, &result, &err) < 0)
		fail_msg("%s", err.text);
	memcpy(out, result.out[0].data, result.out[0].size + 1);
	int64_t code = result.process.exit_code;
	arena_done(&a);
	return code;
}

TEST(a_command_prints_its_input_and_succeeds)
{
	struct provider *p = open_with_one();
	char out[64];

	assert_int_equal(run(p, (const char *[]){"cat", NULL}, "hello", out), 0);
	assert_string_equal(out, "hello");
	assert_int_equal(run(p, (const char *[]){"false", NULL}, "", out), 1);
	assert_int_equal(run(p, (const char *[]){"sh", "-c", "false", NULL}, "", out), 1);
	provider_ops_of(p)->close(p);
}

TEST(an_id_is_used_once)
{
	struct provider *p = open_with_one();
	struct sandbox_spec spec = {.id = SANDBOX};
	struct provider_created created;
	struct error err = {0};

	assert_int_equal(provider_ops_of(p)->create(p, &spec, DEADLINE_NEVER, &created, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	spec.id = "../x";
	assert_int_equal(provider_ops_of(p)->create(p, &spec, DEADLINE_NEVER, &created, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	provider_ops_of(p)->close(p);
}

TEST(a_stopped_sandbox_takes_no_connection_until_it_is_started)
{
	struct provider *p = open_with_one();
	const struct provider_ops *ops = provider_ops_of(p);
	struct sandbox_spec spec = {.id = SANDBOX};
	struct provider_created created;
	struct error err = {0};
	int fd = -1;

	assert_int_equal(ops->stop(p, SANDBOX, 0, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->stop(p, SANDBOX, 0, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(ops->start(p, &spec, DEADLINE_NEVER, &created, &err), 0);
	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), 0);
	close(fd);
	ops->close(p);
}

TEST(a_paused_sandbox_takes_no_connection_until_it_is_resumed)
{
	struct provider *p = open_with_one();
	const struct provider_ops *ops = provider_ops_of(p);
	struct error err = {0};
	int fd = -1;

	assert_int_equal(ops->pause(p, SANDBOX, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(ops->resume(p, SANDBOX, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), 0);
	close(fd);
	assert_int_equal(ops->stop(p, SANDBOX, 0, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->pause(p, SANDBOX, DEADLINE_NEVER, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(ops->pause(p, "aaaaaaaaaaaaaaaaaaaa", DEADLINE_NEVER, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	ops->close(p);
}

TEST(destroy_ends_connections_and_is_fine_twice)
{
	struct provider *p = open_with_one();
	const struct provider_ops *ops = provider_ops_of(p);
	struct error err = {0};
	char byte;
	int fd = -1;

	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), 0);
	assert_int_equal(ops->destroy(p, SANDBOX, DEADLINE_NEVER, &err), 0);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
	assert_int_equal(ops->destroy(p, SANDBOX, DEADLINE_NEVER, &err), 0);
	assert_int_equal(ops->compute->connect(p, SANDBOX, DEADLINE_NEVER, &fd, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	ops->close(p);
}

TEST(it_lists_what_it_has_with_its_limits)
{
	struct provider *p = open_with_one();
	const struct provider_ops *ops = provider_ops_of(p);
	struct arena a = {0};
	struct provider_list list;
	struct provider_stats stats;
	struct error err = {0};

	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.entries[0].id, SANDBOX);
	assert_true(list.entries[0].running);
	assert_int_equal(ops->stats(p, SANDBOX, &stats, &err), 0);
	assert_int_equal(stats.memory_limit_bytes, (uint64_t)1024 << 20);
	assert_int_equal(ops->stats(p, "bcdefghijklmnopqrstu", &stats, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(ops->health(p, &err), 0);
	arena_done(&a);
	ops->close(p);
}

TEST(files_and_old_processes_are_refused_honestly)
{
	struct provider *p = open_with_one();
	struct arena a = {0};
	struct agent_path path = {.path = "/etc/passwd"};
	struct compute_call call = {AGENT_STAT, agent_path_shape, &path};
	struct agent_attach attach = {.process = 1};
	struct compute_call again = {AGENT_ATTACH, agent_attach_shape, &attach};
	struct error err = {0};

	assert_int_equal(compute_call(p, SANDBOX, &a, &call, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(compute_call(p, SANDBOX, &a, &again, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	arena_done(&a);
	provider_ops_of(p)->close(p);
}

TEST(templates_are_only_names)
{
	struct provider *p = open_null();
	struct provider_template request = {
	        .verb = PROVIDER_TEMPLATE_BUILD, .name = "base", .source_fd = -1};
	struct error err = {0};

	assert_int_equal(provider_template(p, &request, DEADLINE_NEVER, &err), 0);
	provider_ops_of(p)->close(p);
}

int main(void)
{
	return RUN(CASE(a_command_prints_its_input_and_succeeds), CASE(an_id_is_used_once),
	           CASE(a_stopped_sandbox_takes_no_connection_until_it_is_started),
	           CASE(a_paused_sandbox_takes_no_connection_until_it_is_resumed),
	           CASE(destroy_ends_connections_and_is_fine_twice),
	           CASE(it_lists_what_it_has_with_its_limits),
	           CASE(files_and_old_processes_are_refused_honestly),
	           CASE(templates_are_only_names));
}
