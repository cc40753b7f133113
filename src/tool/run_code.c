/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/head_tail.h"
#include "base/path.h"
#include "decision/watch.h"
#include "code/block.h"
#include "json/json.h"
#include "terminal/command_cast.h"
#include "tool/artifacts.h"
#include "tool/builtin.h"
#include "tool/recorded.h"
#include "tool/tool.h"
#include "wire/agent_cause.h"

/* The context of tools: its blocks run one after the other, see code/block.h. */
#define CONTEXT "tool"
#define IMAGES_MAX 4 /* images in the content; `results` has all */
#define RESULTS_MAX ((size_t)16 * 1024 * 1024)
#define VALUE_MAX ((size_t)64 * 1024)

struct run_code_input {
	const char *language, *code, *artifacts;
	int64_t timeout_ms;
	bool restart, record;
};
static const struct json_member run_code_input_members[] = {
        JSON_TEXT_MEMBER(run_code_input, language, .min = 1, .max = 32,
                         .about = "python (default), javascript, typescript, bash, r or java",
                         .example = "python"),
        JSON_TEXT_MEMBER(run_code_input, code, .flags = JSON_REQUIRED,
                         .max = (int64_t)CODE_SOURCE_MAX,
                         .about = "a block of code; the value of its last expression is returned",
                         .example = "import math\nmath.sqrt(2)"),
        JSON_WHOLE_MEMBER(run_code_input, timeout_ms, .min = 0, .max = 600000,
                          .about = "interrupt the block after this time; 0 = the default"),
        JSON_BOOL_MEMBER(run_code_input, restart,
                         .about = "restart the interpreter first: its state is lost"),
        JSON_BOOL_MEMBER(run_code_input, record,
                         .about = "record its output as asciicast, for people to replay"),
        JSON_TEXT_MEMBER(run_code_input, artifacts, .max = PATH_SIZE_MAX,
                         .about = TOOL_ARTIFACTS_ABOUT, .example = "out"),
};
static JSON_SHAPE(run_code_input, "RunCodeInput", run_code_input, "A block of code");

struct run_code_failure {
	const char *name, *value, *traceback;
};
static const struct json_member failure_shape_members[] = {
        JSON_TEXT_MEMBER(run_code_failure, name),
        JSON_TEXT_MEMBER(run_code_failure, value),
        JSON_TEXT_MEMBER(run_code_failure, traceback),
};
static JSON_SHAPE(failure_shape, "RunCodeError", run_code_failure, "The exception of a block");

struct run_code_output {
	const char *standard_output, *standard_error, *context, *recording;
	int64_t execution_count, duration_ms;
	bool timed_out, context_ended, truncated;
	const char *cause;
	struct json_list results, artifacts, network;
	struct run_code_failure error;
};
static const struct json_member run_code_output_members[] = {
        JSON_WHOLE_MEMBER(run_code_output, execution_count,
                          .about = "number of the block in its interpreter"),
        JSON_BOOL_MEMBER(run_code_output, timed_out),
        JSON_TEXT_MEMBER(run_code_output, cause, .about = AGENT_CAUSES_ABOUT),
        JSON_WHOLE_MEMBER(run_code_output, duration_ms),
        JSON_TEXT_MEMBER(run_code_output, standard_output, .name = "stdout"),
        JSON_TEXT_MEMBER(run_code_output, standard_error, .name = "stderr"),
        JSON_BOOL_MEMBER(run_code_output, truncated, .about = "output or results were cut"),
        JSON_LIST_MEMBER(run_code_output, results, &code_result_shape,
                         .about = "values and figures, in all available formats"),
        JSON_LIST_MEMBER(run_code_output, network, &network_refusal_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "what network rules refused in the sandbox while it ran"),
        JSON_LIST_MEMBER(run_code_output, artifacts, &tool_artifact_shape,
                         .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(run_code_output, recording, .flags = JSON_OMIT_EMPTY,
                         .about = "id of the recording"),
        JSON_OBJECT_MEMBER(run_code_output, error, &failure_shape, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(run_code_output, context, .name = "contextId"),
        JSON_BOOL_MEMBER(run_code_output, context_ended,
                         .about = "the interpreter has ended: the next block starts a new one"),
};
static JSON_SHAPE(run_code_output, "RunCodeOutput", run_code_output,
                  "The result of a block of code");

#define SHOWN_MAX 64
struct run_code_results {
	const struct tool_call *call;
	struct run_code_output out;
	struct head_tail both, streams[2];
	struct code_result *results; /* SHOWN_MAX of them */
	size_t size;                 /* bytes of the results */
	struct command_cast *cast;   /* gets the output; or NULL */
};

static void run_code_results_done(struct run_code_results *s)
{
	head_tail_done(&s->both);
	for (unsigned i = 0; i < 2; i++)
		head_tail_done(&s->streams[i]);
}

static void add_output(struct run_code_results *s, unsigned stream, struct span text)
{
	if (s->call->on_progress)
		s->call->on_progress(s->call->progress_context, text);
	head_tail_add(&s->both, s->both.total, text);
	head_tail_add(&s->streams[stream], s->streams[stream].total, text);
}

static const char *keep_text(struct run_code_results *s, const char *text)
{
	if (!text)
		return NULL;
	s->size += strlen(text);
	return arena_text(s->call->arena, text);
}

static struct span keep_json(struct run_code_results *s, struct span json)
{
	if (json.size == 0)
		return json;
	s->size += json.size;
	return (struct span){arena_copy(s->call->arena, json), json.size};
}

static size_t size_of(const struct code_result *r)
{
	const char *const texts[] = {r->text, r->html, r->markdown, r->svg,       r->png,
	                             r->jpeg, r->pdf,  r->latex,    r->javascript};
	size_t size = r->json.size + r->data.size + r->chart.size + r->extra.size;

	for (unsigned i = 0; i < COUNT_OF(texts); i++)
		size += texts[i] ? strlen(texts[i]) : 0;
	return size;
}

static void add_result(struct run_code_results *s, const struct code_result *r)
{
	if (s->out.results.count == SHOWN_MAX || s->size + size_of(r) > RESULTS_MAX) {
		s->out.truncated = true;
		return;
	}
	s->results[s->out.results.count++] = (struct code_result){
	        .text = keep_text(s, r->text),
	        .html = keep_text(s, r->html),
	        .markdown = keep_text(s, r->markdown),
	        .svg = keep_text(s, r->svg),
	        .png = keep_text(s, r->png),
	        .jpeg = keep_text(s, r->jpeg),
	        .pdf = keep_text(s, r->pdf),
	        .latex = keep_text(s, r->latex),
	        .javascript = keep_text(s, r->javascript),
	        .json = keep_json(s, r->json),
	        .data = keep_json(s, r->data),
	        .chart = keep_json(s, r->chart),
	        .extra = keep_json(s, r->extra),
	        .is_main = r->is_main,
	};
}

static void record_event(struct command_cast *cast, const struct code_event *event)
{
	bool is_whole;
	struct span text = code_event_text(event, &is_whole);

	if (text.size == 0)
		return;
	command_cast_add(cast, text);
	if (is_whole && text.data[text.size - 1] != '\n')
		command_cast_add(cast, SPAN("\n"));
}

static void on_event(void *context, const struct code_event *event)
{
	struct run_code_results *s = context;

	if (s->cast)
		record_event(s->cast, event);
	switch (event->kind) {
	case CODE_BEGIN:
		s->out.execution_count = event->count;
		break;
	case CODE_STDOUT:
	case CODE_STDERR:
		add_output(s, event->kind == CODE_STDERR, event->text);
		break;
	case CODE_RESULT:
		add_result(s, event->result);
		break;
	case CODE_ERROR:
		if (!s->out.error.name)
			s->out.error = (struct run_code_failure){
			        arena_text(s->call->arena, event->name),
			        arena_text(s->call->arena, event->value),
			        arena_text(s->call->arena, event->traceback)};
		break;
	case CODE_END:
		if (event->status != 0 && !s->out.error.name)
			s->out.error = (struct run_code_failure){
			        "ExitCode", arena_format(s->call->arena, "%" PRId64, event->status),
			        ""};
		break;
	}
}

static const char *join_output(const struct run_code_results *s, const struct head_tail *k)
{
	AUTO(buf_done) struct buf text = BUF(2 * k->half + 256);

	head_tail_join(k, &text);
	return tool_text(s->call->arena, buf_span(&text));
}

static void begin_line(struct buf *text)
{
	if (text->size > 0 && text->data[text->size - 1] != '\n')
		buf_add_byte(text, '\n');
}

static void write_values(const struct run_code_results *s, struct buf *text)
{
	for (size_t i = 0; i < s->out.results.count; i++) {
		const struct code_result *r = &s->results[i];
		const char *shown = r->text ? r->text : r->markdown ? r->markdown : r->html;

		if (!shown || ((r->png || r->jpeg) && !r->is_main))
			continue;
		begin_line(text);
		buf_add(text, shown, strnlen(shown, VALUE_MAX));
	}
}

static void write_end(const struct run_code_results *s, struct buf *text)
{
	const struct run_code_failure *f = &s->out.error;
	const char *why = s->out.context_ended ? agent_cause_explain(s->out.cause) : NULL;

	begin_line(text);
	if (f->name && f->traceback[0])
		buf_add_text(text, f->traceback);
	else if (f->name)
		buf_addf(text, "[%s: %s]", f->name, f->value);
	begin_line(text);
	if (s->out.timed_out)
		buf_add_text(text, "[interrupted: its time was over]\n");
	if (s->out.context_ended)
		buf_add_text(text, "[the interpreter has ended: variables are gone]\n");
	if (why)
		buf_addf(text, "[%s]\n", why);
	if (s->out.truncated)
		buf_add_text(text, "[some of it was left out]\n");
	if (text->size == 0)
		buf_add_text(text, "[no output]\n");
}

static void add_images(const struct run_code_results *s, struct tool_result *ret)
{
	for (size_t i = 0; i < s->out.results.count && ret->count <= IMAGES_MAX; i++) {
		const struct code_result *r = &s->results[i];
		const char *image = r->png ? r->png : r->jpeg;
		struct span bytes;

		/* The kernel is not trusted: the text may not be base64. */
		if (!image || !json_read_base64(s->call->arena, span_of(image), &bytes))
			continue;
		ret->content[ret->count++] = (struct tool_content){
		        .kind = TOOL_IMAGE,
		        .bytes = bytes,
		        .media_type = r->png ? "image/png" : "image/jpeg",
		};
	}
}

static void write_output(struct run_code_results *s, struct tool_result *ret)
{
	AUTO(buf_done)
	struct buf text = BUF(2 * s->both.half + SHOWN_MAX * VALUE_MAX + 1024 * 1024);

	ret->has_failed = s->out.error.name || s->out.timed_out || s->out.context_ended;
	s->out.standard_output = join_output(s, &s->streams[0]);
	s->out.standard_error = join_output(s, &s->streams[1]);
	s->out.truncated = s->out.truncated || head_tail_cut_count(&s->both) > 0;
	buf_add_text(&text, join_output(s, &s->both));
	write_values(s, &text);
	write_end(s, &text);
	tool_add_text(ret, (struct span){arena_copy(s->call->arena, buf_span(&text)), text.size});
	add_images(s, ret);
}

static int open_context(const struct tool_call *call, const struct run_code_input *in,
                        const struct code_at *at, struct code_context *ret, struct error *err)
{
	struct code_open open = {.cwd = call->root, .user = call->user, .env = call->env};
	struct error ignored = {0};

	if (code_language_parse(in->language ? in->language : "python", &open.language, err) < 0 ||
	    code_source_check(open.language, in->code, NULL, err) < 0)
		return -1;
	open.id = arena_format(call->arena, CONTEXT "-%s", code_languages[open.language]);
	if (in->restart && code_close(at, call->arena, open.id, &ignored) < 0 &&
	    ignored.code != ERROR_NOT_FOUND) {
		*err = ignored;
		return -1;
	}
	return code_open(at, call->arena, &open, ret, err);
}

/* Runs the block, and stores what was recorded of it, also when the call fails meanwhile. */
static int run_recorded(struct run_code_results *s, const struct code_at *at,
                        const struct code_block *block, struct code_ended *ret, struct error *err)
{
	const struct agent_process kernel = {.process = block->context->process};
	int result;

	if (tool_cast_begin(s->call, block->code, &s->cast, err) < 0)
		return -1;
	result = code_block_run(at, block, ret, err);
	s->out.recording = tool_cast_end(s->call, s->cast, &kernel);
	s->cast = NULL;
	return result;
}

static int run_code_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                         struct error *err)
{
	const struct run_code_input *in = input;
	const struct code_at at = {call->contexts, call->hold, call->deadline};
	struct run_code_output *out = ARENA_NEW(call->arena, struct run_code_output);
	AUTO(run_code_results_done) struct run_code_results s = {.call = call};
	struct tool_changed_files left = {.folder = in->artifacts};
	const struct decision_watch watch = tool_watch_network(call);
	struct code_context context;
	struct code_ended ended;
	struct code_block block = {
	        .context = &context,
	        .code = in->code,
	        .timeout_ms = in->timeout_ms > 0 ? in->timeout_ms : call->timeout_ms,
	        .cancel = call->cancel,
	        .on_event = on_event,
	        .on_event_context = &s,
	};

	s.results = ARENA_ARRAY(call->arena, struct code_result, SHOWN_MAX);
	head_tail_init(&s.both, (size_t)call->output_limit_bytes);
	for (unsigned i = 0; i < 2; i++)
		head_tail_init(&s.streams[i], (size_t)call->output_limit_bytes);
	if (block.timeout_ms > call->timeout_max_ms)
		return FAIL(err, ERROR_INVALID, "timeout_ms: at most %" PRId64 " here",
		            call->timeout_max_ms);
	if (open_context(call, in, &at, &context, err) < 0)
		return -1;
	if ((in->record ? run_recorded(&s, &at, &block, &ended, err)
	                : code_block_run(&at, &block, &ended, err)) < 0)
		return -1;
	s.out.context = context.id;
	s.out.timed_out = ended.timed_out;
	s.out.duration_ms = ended.duration_ms;
	s.out.context_ended = ended.has_lost_kernel;
	s.out.cause = ended.has_lost_kernel ? agent_process_cause(&ended.kernel)
	              : ended.timed_out     ? "timeout"
	                                    : "exit";
	s.out.results.items = s.results;
	s.out.results.present = true;
	write_output(&s, ret);
	left.since = ended.began;
	left.process = (int64_t)context.process;
	tool_keep_artifacts(call, &left, &s.out.artifacts, ret);
	s.out.network = tool_add_refusals(call, &watch, ret);
	*out = s.out;
	ret->structured = out;
	return 0;
}

/* Checks bash code like a shell line, and other code only for its runtime. */
static int run_code_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct run_code_input *in = input;
	enum code_language language = CODE_PYTHON;

	if ((in->language && code_language_parse(in->language, &language, err) < 0) ||
	    tool_check_artifacts(call, in->artifacts, err) < 0)
		return -1;
	return tool_check_command(call, language == CODE_BASH ? in->code : code_programs[language],
	                          err);
}

const struct tool run_code_tool = {
        .name = "run_code",
        .title = "Run a block of code",
        .description =
                "Runs Python (or JavaScript, TypeScript, bash, R, Java) in an interpreter that "
                "stays: variables, "
                "imports, functions and the current folder are there for the next block, as in a "
                "notebook. Returns what it prints, the value of its last expression, and figures "
                "as images (matplotlib: plt.show()). It starts in the workspace. Top-level await, "
                "!command and %pip install work; input() does not. Use bash for single commands.",
        .input = &run_code_input,
        .output = &run_code_output,
        .class = TOOL_RUNS,
        .flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD,
        .reason = USAGE_CODE,
        .check = run_code_check,
        .call = run_code_call,
};
