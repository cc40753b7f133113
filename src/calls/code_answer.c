/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of a block of code, for native surfaces. */
#include <string.h>

#include "calls/code_run.h"
#include "calls/output.h"
#include "code/reader.h"
#include "json/write.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"

#define IDLE_MS 15000

static void collect_result(struct code_outcome *outcome, const struct code_result *result)
{
	size_t before = outcome->results.size;

	json_add_struct(&outcome->results, NULL, &code_result_shape, result);
	if (!outcome->results.overflowed)
		return;
	outcome->is_cut = true;
	outcome->results.overflowed = false;
	outcome->results.size = before;
}

void code_outcome_add(struct code_outcome *outcome, const struct code_event *event)
{
	unsigned stream = event->kind == CODE_STDERR;

	if (event->kind == CODE_RESULT) {
		collect_result(outcome, event->result);
	} else if (event->kind == CODE_STDOUT || event->kind == CODE_STDERR) {
		head_tail_add(&outcome->streams[stream], outcome->sizes[stream], event->text);
		outcome->sizes[stream] += event->text.size;
	} else if (event->kind == CODE_ERROR && outcome->error.size == 0) {
		json_begin_object(&outcome->error, NULL);
		json_add_text(&outcome->error, "name", event->name);
		json_add_text(&outcome->error, "value", event->value);
		json_add_text(&outcome->error, "traceback", event->traceback);
		json_end_object(&outcome->error);
	}
}

void code_outcome_lose_kernel(struct code_outcome *outcome, const struct agent_process *kernel,
                              struct buf *text)
{
	char signal[16];
	const char *why;

	outcome->has_lost_kernel = true;
	outcome->cause = agent_process_cause(kernel);
	why = agent_cause_explain(outcome->cause);
	agent_signal_name(kernel->signal, signal);
	if (signal[0])
		buf_addf(text, "the interpreter was ended by %s; ", signal);
	else
		buf_addf(text, "the interpreter has ended with status %d; ",
		         (int)kernel->exit_code);
	if (why)
		buf_addf(text, "%s; ", why);
	buf_add_text(text, "its state is gone: restart the context");
}

static void event_begin(struct buf *out, bool is_sse, const char *name)
{
	if (is_sse)
		buf_addf(out, "event: %s\ndata: ", name);
	json_begin_object(out, NULL);
	json_add_text(out, "event", name);
}

static void event_end(struct buf *out, bool is_sse)
{
	json_end_object(out);
	buf_add_text(out, is_sse ? "\n\n" : "\n");
}

static void write_event(const struct code_outcome *outcome, const struct code_event *event,
                        struct buf *out, bool is_sse)
{
	static const char *const names[] = {
	        [CODE_BEGIN] = "started", [CODE_STDOUT] = "stdout", [CODE_STDERR] = "stderr",
	        [CODE_RESULT] = "result", [CODE_ERROR] = "error",   [CODE_END] = NULL,
	};

	if (!names[event->kind])
		return;
	event_begin(out, is_sse, names[event->kind]);
	if (event->kind == CODE_BEGIN) {
		json_add_text(out, "contextId", outcome->context);
		json_add_whole(out, "process", (int64_t)outcome->process);
		json_add_whole(out, "execution_count", outcome->count);
	} else if (event->kind == CODE_RESULT) {
		json_add_struct(out, "result", &code_result_shape, event->result);
	} else if (event->kind == CODE_ERROR) {
		json_add_text(out, "name", event->name);
		json_add_text(out, "value", event->value);
		json_add_text(out, "traceback", event->traceback);
	} else {
		json_add_span(out, "data", event->text);
	}
	event_end(out, is_sse);
}

static bool is_ok(const struct code_outcome *outcome)
{
	return !outcome->has_failed && !outcome->timed_out && outcome->exit_code == 0;
}

static const char *cause_of(const struct code_outcome *outcome)
{
	if (outcome->timed_out)
		return "timeout";
	return outcome->cause ? outcome->cause : "exit";
}

static void write_outcome(const struct code_outcome *outcome, struct buf *out)
{
	json_add_whole(out, "process", (int64_t)outcome->process);
	json_add_whole(out, "exit_code", outcome->exit_code);
	json_add_null(out, "signal");
	json_add_bool(out, "timed_out", outcome->timed_out);
	json_add_text(out, "cause", cause_of(outcome));
	json_add_whole(out, "duration_ms", outcome->duration_ms);
	json_add_text(out, "contextId", outcome->context);
	json_add_whole(out, "execution_count", outcome->count);
	json_add_bool(out, "context_ended", outcome->has_lost_kernel);
	if (outcome->recording)
		json_add_text(out, "recording", outcome->recording);
}

static void write_exit(const struct code_outcome *outcome, struct buf *out, bool is_sse)
{
	event_begin(out, is_sse, "exit");
	json_add_bool(out, "ok", is_ok(outcome));
	write_outcome(outcome, out);
	event_end(out, is_sse);
}

static void write_sse(const struct code_outcome *outcome, const struct code_event *event,
                      struct buf *out)
{
	write_event(outcome, event, out, true);
}

static void end_sse(const struct code_outcome *outcome, struct buf *out)
{
	write_exit(outcome, out, true);
}

static void write_ndjson(const struct code_outcome *outcome, const struct code_event *event,
                         struct buf *out)
{
	write_event(outcome, event, out, false);
}

static void end_ndjson(const struct code_outcome *outcome, struct buf *out)
{
	write_exit(outcome, out, false);
}

static void write_artifact(struct span json, struct buf *out, bool is_sse)
{
	event_begin(out, is_sse, "artifact");
	json_add_raw(out, "artifact", json);
	event_end(out, is_sse);
}

static void write_artifact_sse(struct span json, struct buf *out)
{
	write_artifact(json, out, true);
}

static void write_artifact_ndjson(struct span json, struct buf *out)
{
	write_artifact(json, out, false);
}

/* As on a terminal: output, values as text, tracebacks. */
static void write_plain(const struct code_outcome *outcome, const struct code_event *event,
                        struct buf *out)
{
	(void)outcome;
	if (event->kind == CODE_STDOUT || event->kind == CODE_STDERR) {
		buf_add_span(out, event->text);
	} else if (event->kind == CODE_RESULT && event->result->text) {
		buf_add_text(out, event->result->text);
		buf_add_byte(out, '\n');
	} else if (event->kind == CODE_ERROR) {
		buf_add_text(out, *event->traceback ? event->traceback : event->value);
	}
}

static void end_plain(const struct code_outcome *outcome, struct buf *out)
{
	(void)outcome;
	(void)out;
}

static void write_result(const struct code_outcome *outcome, struct buf *out)
{
	static const char *const names[2] = {"stdout", "stderr"};
	bool is_cut = outcome->is_cut;

	json_begin_object(out, NULL);
	json_add_bool(out, "ok", is_ok(outcome));
	json_add_text(out, "runtime", code_languages[outcome->language]);
	write_outcome(outcome, out);
	for (unsigned i = 0; i < 2; i++) {
		const struct head_tail *stream = &outcome->streams[i];
		AUTO(buf_done) struct buf joined = BUF(stream->head.size + stream->tail.size + 256);

		head_tail_join(stream, &joined);
		json_add_span(out, names[i], buf_span(&joined));
		is_cut = is_cut || head_tail_cut_count(stream) > 0;
	}
	json_add_bool(out, "truncated", is_cut);
	json_begin_list(out, "results");
	buf_add_span(out, buf_span(&outcome->results));
	json_end_list(out);
	json_begin_list(out, "artifacts");
	buf_add_span(out, buf_span(&outcome->artifacts));
	json_end_list(out);
	json_add_raw(out, "error", buf_span(&outcome->error));
	json_end_object(out);
}

const struct code_writer code_writers[] = {
        [OUTPUT_RESULT] = {"application/json", .collects = true, .write_end = write_result},
        [OUTPUT_SSE] = {"text/event-stream", IDLE_MS, ": still here\n\n", .write = write_sse,
                        .write_artifact = write_artifact_sse, .write_end = end_sse},
        [OUTPUT_NDJSON] = {"application/x-ndjson", .write = write_ndjson,
                           .write_artifact = write_artifact_ndjson, .write_end = end_ndjson},
        [OUTPUT_TEXT] = {"text/plain", .write = write_plain, .write_end = end_plain},
};
