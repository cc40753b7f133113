/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that need an approval: which call an approval is for, how often, how long, by whom. */
#include "store/approvals.h"

#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "json/json.h"
#include "store/database.h"
#include "store/projects.h"
#include "tool/tool.h"
#include "unit.h"

/* ---- a tool that counts its calls ---- */

struct probe_input {
	const char *text;
	int64_t number;
};
static const struct json_member probe_input_members[] = {
        JSON_TEXT_MEMBER(probe_input, text, .max = 1 << 20),
        JSON_WHOLE_MEMBER(probe_input, number),
};
static JSON_SHAPE(probe_input, "ProbeInput", probe_input, "What the test sends");

static unsigned calls, checks;

static int probe_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct probe_input *in = input;

	(void)call;
	checks++;
	return in->number > 1000 ? FAIL(err, ERROR_INVALID, "too many") : 0;
}

static int probe_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                      struct error *err)
{
	(void)call;
	(void)input;
	(void)err;
	calls++;
	tool_add_text(ret, SPAN("done"));
	return 0;
}

static struct tool probe = {
        .name = "probe", .input = &probe_input, .check = probe_check, .call = probe_call};

/* ---- the fixture ---- */

static struct store *store;
static struct arena arena;
static struct tool_call call;
static struct tool_result result;

static int set_up(void **state)
{
	const struct project_record project = {.id = "project", .name = "p", .created_at = 1};
	struct error err = {0};

	(void)state;
	assert_int_equal(store_open("sqlite::memory:", &store, &err), 0);
	assert_int_equal(store_project_insert(store, &project, &err), 0);
	calls = checks = 0;
	probe.class = TOOL_RUNS;
	call = (struct tool_call){.store = store,
	                          .arena = &arena,
	                          .project_id = "project",
	                          .key_id = "asker",
	                          .permission = TOOL_ASK};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_close(store);
	arena_done(&arena);
	return 0;
}

static enum error_code run(struct span input)
{
	struct error err = {0};

	return tool_run(&probe, &call, input, &result, &err) < 0 ? err.code : ERROR_NONE;
}

/* The id of the approval that the call waits for. */
static const char *pending(struct span input)
{
	assert_int_equal(run(input), ERROR_NONE);
	assert_non_null(result.pending);
	return result.pending;
}

static enum error_code decide(const char *id, const char *key, bool approves, const char *note)
{
	const struct tool_decision d = {"project", id, key, note, approves};
	struct approval_record r;
	struct error err = {0};

	return tool_decide_approval(store, &arena, &d, &r, &err) < 0 ? err.code : ERROR_NONE;
}

/* ---- which calls need one ---- */

TEST(the_permission_says_which_classes_need_an_approval)
{
	static const struct {
		enum tool_permission permission;
		enum tool_class class;
		bool needs;
	} rows[] = {
	        {TOOL_BYPASS, TOOL_RUNS, false}, {TOOL_BYPASS, TOOL_EDITS, false},
	        {TOOL_EDIT, TOOL_RUNS, true},    {TOOL_EDIT, TOOL_EDITS, false},
	        {TOOL_EDIT, TOOL_READS, false},  {TOOL_ASK, TOOL_RUNS, true},
	        {TOOL_ASK, TOOL_EDITS, true},    {TOOL_ASK, TOOL_READS, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned before = calls;

		call.permission = rows[i].permission;
		probe.class = rows[i].class;
		assert_int_equal(run(SPAN("{}")), ERROR_NONE);
		assert_int_equal(result.pending != NULL, rows[i].needs);
		assert_int_equal(calls - before, rows[i].needs ? 0 : 1);
	}
}

TEST(bad_input_is_refused_before_anybody_is_asked)
{
	assert_int_equal(run(SPAN("{\"number\":1001}")), ERROR_INVALID);
	assert_int_equal(run(SPAN("{\"nonsense\":1}")), ERROR_INVALID);
	assert_int_equal(checks, 1);
	assert_int_equal(calls, 0);
}

/* ---- what an approval is for ---- */

TEST(an_approved_call_runs_once)
{
	const char *id = pending(SPAN("{\"number\":1}"));

	assert_int_equal(calls, 0);
	assert_non_null(strstr(arena_copy(&arena, result.content[0].bytes), id));
	assert_int_equal(decide(id, "person", true, NULL), ERROR_NONE);
	assert_int_equal(run(SPAN("{\"number\":1}")), ERROR_NONE);
	assert_null(result.pending);
	assert_int_equal(calls, 1);
	assert_string_not_equal(pending(SPAN("{\"number\":1}")), id);
	assert_int_equal(calls, 1);
}

TEST(a_call_that_waits_is_asked_for_once)
{
	const char *id = pending(SPAN("{\"number\":1,\"text\":\"a\"}"));

	assert_string_equal(pending(SPAN("{\"number\":1,\"text\":\"a\"}")), id);
	assert_string_equal(pending(SPAN(" { \"number\" : 1 , \"text\" : \"\\u0061\" } ")), id);
}

TEST(another_call_needs_an_approval_of_its_own)
{
	const char *id = pending(SPAN("{\"number\":1}"));
	struct tool other = probe;

	assert_int_equal(decide(id, "person", true, NULL), ERROR_NONE);
	assert_string_not_equal(pending(SPAN("{\"number\":2}")), id);
	assert_string_not_equal(pending(SPAN("{\"number\":1,\"text\":\"\"}")), id);
	call.key_id = "other";
	assert_string_not_equal(pending(SPAN("{\"number\":1}")), id);
	call.key_id = "asker";
	other.name = "other";
	assert_int_equal(
	        tool_run(&other, &call, SPAN("{\"number\":1}"), &result, &(struct error){0}), 0);
	assert_string_not_equal(result.pending, id);
	assert_int_equal(calls, 0);
}

/* A byte of the input may become six in its normal form. */
static const char *long_call(struct buf *input, char filler, const char *end)
{
	buf_reset(input);
	buf_add_text(input, "{\"text\":\"");
	for (int i = 0; i < 5000; i++)
		buf_add_byte(input, filler);
	buf_addf(input, "%s\"}", end);
	return pending(buf_span(input));
}

TEST(calls_that_differ_only_at_the_end_of_a_long_input_differ)
{
	static const char fillers[] = {'x', '\x7f'};
	AUTO(buf_done) struct buf input = BUF(1 << 20);

	for (size_t i = 0; i < sizeof(fillers); i++) {
		const char *id = long_call(&input, fillers[i], "echo");

		assert_int_equal(decide(id, "person", true, NULL), ERROR_NONE);
		assert_string_not_equal(long_call(&input, fillers[i], "evil"), id);
	}
	assert_int_equal(calls, 0);
}

TEST(what_is_shown_of_a_long_input_is_cut_between_characters)
{
	AUTO(buf_done) struct buf input = BUF(1 << 20);
	struct approval_record r;
	struct error err = {0};
	const char *id;

	buf_add_text(&input, "{\"text\":\"a");
	for (int i = 0; i < 100000; i++)
		buf_add_text(&input, "\xc3\xa9");
	buf_add_text(&input, "\"}");
	id = pending(buf_span(&input));
	assert_int_equal(store_approval_find(store, &arena, "project", id, &r, &err), 0);
	assert_in_range(strlen(r.input), 65530, 65536);
	assert_true(span_is_utf8(span_of(r.input)));
}

/* ---- decisions ---- */

TEST(the_key_that_asks_cannot_approve_but_may_take_it_back)
{
	const char *id = pending(SPAN("{}"));

	assert_int_equal(decide(id, "asker", true, NULL), ERROR_FORBIDDEN);
	assert_int_equal(decide(id, "asker", false, NULL), ERROR_NONE);
	assert_int_equal(decide(id, "person", true, NULL), ERROR_CONFLICT);
	assert_int_equal(decide("unknown", "person", true, NULL), ERROR_NOT_FOUND);
}

/* Decides while the call waits. */
struct decision {
	const char *note;
	bool approves;
};

static void on_progress(void *context, struct span text)
{
	static const char waiting[] = "waiting for approval ";
	const struct decision *d = context;

	assert_memory_equal(text.data, waiting, strlen(waiting));
	assert_int_equal(decide(text.data + strlen(waiting), "person", d->approves, d->note),
	                 ERROR_NONE);
}

TEST(a_call_waits_for_its_decision)
{
	struct decision d = {.approves = true};

	call.approval_wait_ms = 20000;
	call.on_progress = on_progress;
	call.progress_context = &d;
	assert_int_equal(run(SPAN("{}")), ERROR_NONE);
	assert_null(result.pending);
	assert_int_equal(calls, 1);
}

TEST(a_refusal_tells_its_note)
{
	struct decision d = {.note = "not on a Friday"};
	struct error err = {0};

	call.approval_wait_ms = 20000;
	call.on_progress = on_progress;
	call.progress_context = &d;
	assert_int_equal(tool_run(&probe, &call, SPAN("{}"), &result, &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_non_null(strstr(err.text, "not on a Friday"));
	assert_int_equal(calls, 0);
}

TEST(an_approval_is_valid_for_a_time)
{
	const char *id = pending(SPAN("{}"));
	const struct approval_decision expired = {.project_id = "project",
	                                          .id = id,
	                                          .from = APPROVAL_PENDING,
	                                          .to = APPROVAL_APPROVED,
	                                          .note = "",
	                                          .decided_by = "person",
	                                          .now = clock_unix_ms(),
	                                          .expires_at = clock_unix_ms() - 1};
	struct error err = {0};

	assert_int_equal(store_approval_decide(store, &expired, &err), 0);
	assert_string_not_equal(pending(SPAN("{}")), id);
	assert_int_equal(calls, 0);
}

TEST(a_cancelled_call_does_not_wait)
{
	struct cancel cancel;
	struct error err = {0};

	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_say(&cancel);
	call.cancel = &cancel;
	call.approval_wait_ms = 20000;
	assert_int_equal(run(SPAN("{}")), ERROR_UNAVAILABLE);
	cancel_done(&cancel);
}

TEST(only_so_many_calls_of_a_project_wait)
{
	char input[32];

	for (int i = 0; i < 200; i++) {
		(void)snprintf(input, sizeof(input), "{\"number\":%d}", i);
		(void)pending(span_of(input));
	}
	assert_int_equal(run(SPAN("{\"number\":999}")), ERROR_LIMIT);
	(void)pending(SPAN("{\"number\":7}"));
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(the_permission_says_which_classes_need_an_approval),
	           STEP(bad_input_is_refused_before_anybody_is_asked),
	           STEP(an_approved_call_runs_once), STEP(a_call_that_waits_is_asked_for_once),
	           STEP(another_call_needs_an_approval_of_its_own),
	           STEP(calls_that_differ_only_at_the_end_of_a_long_input_differ),
	           STEP(what_is_shown_of_a_long_input_is_cut_between_characters),
	           STEP(the_key_that_asks_cannot_approve_but_may_take_it_back),
	           STEP(a_call_waits_for_its_decision), STEP(a_refusal_tells_its_note),
	           STEP(an_approval_is_valid_for_a_time), STEP(a_cancelled_call_does_not_wait),
	           STEP(only_so_many_calls_of_a_project_wait));
}
