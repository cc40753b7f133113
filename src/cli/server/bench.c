/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/server/commands.h"
#include "cli/sandbox/create.h"
#include "cli/server/samples.h"
#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

#define COUNT_MAX 100000

enum step { STEP_CREATE, STEP_EXEC, STEP_EXEC_AGAIN, STEP_DELETE, STEP_ALL, STEP_COUNT_ALL };
static const char *const step_names[] = {"create", "first exec", "exec", "delete",
                                         "create + first exec"};

struct bench {
	struct cli *cli;
	const char *body; /* of the create request */
	struct time_samples steps[STEP_COUNT_ALL];
};

static int timed_call(struct cli *cli, const struct server_call *call, struct time_samples *to,
                      const struct json_value **ret)
{
	int64_t start = clock_monotonic_ns();

	if (server_call(cli, call, ret) < 0)
		return -1;
	samples_add(to, clock_monotonic_ns() - start);
	return 0;
}

static int run_true(struct bench *b, const char *id, struct time_samples *to)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(b->cli->arena, id, "/exec"),
	        .body = "{\"cmd\":\"/bin/true\"}",
	};
	const struct json_value *result;

	if (timed_call(b->cli, &call, to, &result) < 0)
		return -1;
	if (json_get_whole(result, "exit_code", -1) != 0)
		return FAIL(b->cli->err, ERROR_SYSTEM, "/bin/true failed in sandbox '%s'", id);
	return 0;
}

static int run_cycle(struct bench *b)
{
	struct server_call create = {.method = "POST", .path = INSTANCES, .body = b->body};
	struct server_call delete = {.method = "DELETE"};
	int64_t start = clock_monotonic_ns();
	const struct json_value *sandbox;
	const char *id;
	int result;

	if (timed_call(b->cli, &create, &b->steps[STEP_CREATE], &sandbox) < 0)
		return -1;
	id = json_get_text(sandbox, "id", "");
	result = run_true(b, id, &b->steps[STEP_EXEC]);
	samples_add(&b->steps[STEP_ALL], clock_monotonic_ns() - start);
	if (result == 0)
		result = run_true(b, id, &b->steps[STEP_EXEC_AGAIN]);
	delete.path = instance_path(b->cli->arena, id, "");
	if (result < 0) {
		struct error failure = *b->cli->err;

		(void)!server_call(b->cli, &delete, NULL);
		*b->cli->err = failure;
		return -1;
	}
	return timed_call(b->cli, &delete, &b->steps[STEP_DELETE], NULL);
}

static void print_table(struct bench *b, double seconds, unsigned count)
{
	struct arena *a = b->cli->arena;
	struct text_table table;

	table_init(&table, a, (const char *const[]){"STEP", "P50 ms", "P99 ms", "MAX ms", NULL});
	for (unsigned i = 0; i < STEP_COUNT_ALL; i++) {
		const struct time_samples *s = &b->steps[i];

		table_add(&table, step_names[i]);
		table_add(&table, arena_format(a, "%.3f", samples_percentile(s, 50) / 1e6));
		table_add(&table, arena_format(a, "%.3f", samples_percentile(s, 99) / 1e6));
		table_add(&table, arena_format(a, "%.3f", samples_percentile(s, 100) / 1e6));
	}
	table_print(&table, stdout, &b->cli->display);
	(void)printf("%u cycles in %.2f s: %.1f a second\n", count, seconds, count / seconds);
}

static void print_json_result(struct bench *b, double seconds, unsigned count)
{
	(void)printf("{\"cycles\":%u,\"seconds\":%.3f,\"steps\":{", count, seconds);
	for (unsigned i = 0; i < STEP_COUNT_ALL; i++) {
		const struct time_samples *s = &b->steps[i];

		(void)printf("%s\n  \"%s\":{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}",
		             i > 0 ? "," : "", step_names[i], samples_percentile(s, 50) / 1e6,
		             samples_percentile(s, 99) / 1e6, samples_percentile(s, 100) / 1e6);
	}
	(void)printf("\n}}\n");
}

/* Answers of a cycle live in its own arena, so that a long run does not grow. */
static int run_cycles(struct bench *b, unsigned count, int64_t pause_ms)
{
	AUTO(arena_done) struct arena arena = {0};
	struct arena *outer = b->cli->arena;
	int result = 0;

	b->cli->arena = &arena;
	for (unsigned i = 0; i < count && result == 0; i++) {
		if (pause_ms > 0)
			(void)poll(NULL, 0, (int)pause_ms);
		result = run_cycle(b);
		arena_reset(&arena);
	}
	b->cli->arena = outer;
	return result;
}

static int measure_cycles(struct bench *b, unsigned count, int64_t pause_ms)
{
	int64_t start;
	double seconds;

	/* The first cycle may build the template or fill a pool; it is not measured. */
	if (run_cycles(b, 1, 0) < 0)
		return -1;
	for (unsigned i = 0; i < STEP_COUNT_ALL; i++)
		samples_reset(&b->steps[i]);
	start = clock_monotonic_ns();
	if (run_cycles(b, count, pause_ms) < 0)
		return -1;
	seconds = (double)(clock_monotonic_ns() - start) / 1e9;
	for (unsigned i = 0; i < STEP_COUNT_ALL; i++)
		samples_sort(&b->steps[i]);
	if (b->cli->json)
		print_json_result(b, seconds, count);
	else
		print_table(b, seconds, count);
	return 0;
}

static int run_bench(struct cli *cli)
{
	struct bench b = {.cli = cli};
	struct create_options create;
	int64_t count = 200, pause_ms = 0;
	int result;

	if (create_options_parse(cli, &create) < 0 ||
	    create_body(cli->arena, &create, &b.body, cli->err) < 0 ||
	    arguments_whole(&cli->args, "count", 1, &count, cli->err) < 0 ||
	    arguments_duration(&cli->args, "pause", &pause_ms, cli->err) < 0)
		return -1;
	if (count > COUNT_MAX || pause_ms > 60000)
		return FAIL(cli->err, ERROR_INVALID,
		            "at most %d cycles with pauses of at most 60 s", COUNT_MAX);
	if (cli_connect(cli) < 0)
		return -1;
	result = measure_cycles(&b, (unsigned)count, pause_ms);
	for (unsigned i = 0; i < STEP_COUNT_ALL; i++)
		samples_done(&b.steps[i]);
	return result;
}

static const struct command_option options[] = {
        {"count", "NUMBER", "cycles (default 200)", .letter = 'n'},
        {"pause", "DURATION", "pause between cycles, such as 100ms"},
        OPTION_TEMPLATE,
        OPTIONS_RESOURCES,
        OPTION_NO_INTERNET,
        {0},
};

const struct cli_command command_bench = {
        .name = "bench",
        .usage = "[OPTION...]",
        .about = "measure create, exec and delete on the server",
        .options = options,
        .run = run_bench,
};
