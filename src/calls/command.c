/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/command.h"

#include <string.h>

#include "base/path.h"
#include "calls/artifact_saver.h"
#include "calls/command_recorder.h"
#include "calls/configs.h"
#include "calls/refusals.h"
#include "calls/shapes.h"
#include "calls/stream.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "fleet/sandbox/artifacts.h"
#include "http/server/http.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent_files.h"

/* Longer stdin is sent in separate messages; one argument of exec(2) holds 128 KiB. */
#define STDIN_INLINE_MAX (64 * 1024)
#define ARGUMENT_MAX (128 * 1024 - 1)
#define EVENT_IDLE_MS 15000

const char *const command_languages[] = {"python", "javascript", "typescript", "bash",
                                         "r",      "java",       NULL};

static void add_alternative(struct sandbox_command *c, struct arena *a, const char *runtime,
                            const char *const *args)
{
	size_t count = 0;
	const char **copy;

	while (args[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(a, args[i]);
	c->alternatives[c->count].runtime = runtime;
	c->alternatives[c->count++].args = copy;
}

void command_set_line(struct sandbox_command *c, struct arena *a, const char *line)
{
	add_alternative(c, a, "bash", (const char *const[]){"bash", "-c", line, NULL});
	add_alternative(c, a, "sh", (const char *const[]){"sh", "-c", line, NULL});
	c->line = line;
}

void command_set_program(struct sandbox_command *c, struct arena *a, const char *program,
                         const char *const *args)
{
	size_t count = 0;
	const char **all;

	while (args && args[count])
		count++;
	all = ARENA_ARRAY(a, const char *, count + 2);
	all[0] = program;
	for (size_t i = 0; i < count; i++)
		all[i + 1] = args[i];
	add_alternative(c, a, "program", all);
}

/* The programs of each language; "%" stands for the code. The code is one argument and never passes
 * through a shell. stdin is the caller's. */
static const struct {
	enum command_language language;
	const char *runtime;
	const char *args[8];
} runners[] = {
        {COMMAND_PYTHON, "python", {"python3", "-c", "%"}},
        {COMMAND_PYTHON, "python", {"python", "-c", "%"}},
        {COMMAND_JAVASCRIPT, "javascript", {"node", "-e", "%"}},
        {COMMAND_TYPESCRIPT, "typescript", {"tsx", "-e", "%"}},
        {COMMAND_TYPESCRIPT,
         "typescript",
         {"node", "--no-warnings", "--experimental-strip-types", "--input-type=commonjs-typescript",
          "-e", "%"}},
        {COMMAND_BASH, "bash", {"bash", "-c", "%"}},
        {COMMAND_R, "r", {"Rscript", "--vanilla", "-e", "%"}},
};

static int fail_without_runner(enum command_language language, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED, "%s has no program that takes code as an argument",
	           command_languages[language]);
	return FAIL_HINT(err, "run it in a context: \"contextId\": \"default\"");
}

int command_set_code(struct sandbox_command *c, struct arena *a, enum command_language language,
                     const char *code, struct error *err)
{
	if (strlen(code) > ARGUMENT_MAX) {
		(void)FAIL(err, ERROR_TOO_LARGE, "the code is longer than %d bytes", ARGUMENT_MAX);
		error_hint(err, "write it to a file and run that");
		return -1;
	}
	c->code = code;
	c->may_be_warm = language == COMMAND_PYTHON || language == COMMAND_JAVASCRIPT;
	for (unsigned i = 0; i < COUNT_OF(runners); i++) {
		const char *args[COUNT_OF(runners[i].args)] = {NULL};

		if (runners[i].language != language)
			continue;
		for (unsigned at = 0; runners[i].args[at]; at++)
			args[at] =
			        strcmp(runners[i].args[at], "%") == 0 ? code : runners[i].args[at];
		add_alternative(c, a, runners[i].runtime, args);
	}
	return c->count > 0 ? 0 : fail_without_runner(language, err);
}

int command_set_cwd(struct sandbox_command *c, struct arena *a, const struct api_target *t,
                    const char *cwd, struct error *err)
{
	if (cwd && cwd[0])
		return path_resolve(a, path_or_root(t->workdir), span_of(cwd), &c->exec.cwd, err);
	c->exec.cwd = t->workdir ? t->workdir : "";
	return 0;
}

struct command_stream {
	struct stream stream;
	enum output_form form;
	struct arena texts;
	const char *runtimes[COMMAND_ALTERNATIVES_MAX];
	const char *program;                        /* of the last alternative, for the error */
	struct buf execs[COMMAND_ALTERNATIVES_MAX]; /* frames that start the other alternatives */
	unsigned at, count;
	struct buf stdin_bytes; /* to send once the command has started */
	struct output_events events;
	struct output_collector collector;
	const char *listed_root, *listed_user; /* NULL: no file is listed */
	unsigned listed;
	struct artifact_saver *saver; /* NULL: no file is stored */
	struct agent_process exit;    /* of the command, while its files are stored; numbers only */
	struct relay *relay;          /* while files are stored */
	struct buf out;
	bool started, waits, is_listing;
	struct decision_watch watch;         /* of what network rules refuse meanwhile */
	struct command_recorder *recorder;   /* NULL: the command is not recorded */
	command_result_writer *write_result; /* NULL: ours */
};

static struct command_stream *command_of(struct stream *s)
{
	return CONTAINER_OF(s, struct command_stream, stream);
}

static void command_done(struct stream *s)
{
	struct command_stream *c = command_of(s);

	for (unsigned i = 0; i < COMMAND_ALTERNATIVES_MAX; i++)
		buf_done(&c->execs[i]);
	buf_done(&c->stdin_bytes);
	buf_done(&c->out);
	output_collector_done(&c->collector);
	artifact_saver_free(c->saver);
	command_recorder_end(c->recorder);
	arena_done(&c->texts);
}

static void flush_output(struct command_stream *c, struct relay *relay)
{
	if (c->out.size > 0)
		relay_write(relay, buf_span(&c->out));
	buf_reset(&c->out);
}

static int on_started(struct command_stream *c, struct relay *relay, const struct agent_process *p,
                      struct error *err)
{
	c->started = true;
	if (c->recorder)
		command_recorder_started(c->recorder, p);
	if (c->stdin_bytes.size > 0) {
		stream_send_bytes(relay, AGENT_STDIN, buf_span(&c->stdin_bytes));
		if (stream_send(relay, AGENT_STDIN_END, NULL, NULL, err) < 0)
			return -1;
		buf_done(&c->stdin_bytes);
	}
	if (c->form == OUTPUT_RESULT)
		return 0;
	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, output_content_type(c->form), -1);
	output_events_started(&c->events, &c->out, p);
	flush_output(c, relay);
	return 0;
}

static int on_output(struct command_stream *c, struct relay *relay, const struct agent_output *o,
                     struct error *err)
{
	if (!c->started || (o->stream != AGENT_STDOUT && o->stream != AGENT_STDERR))
		return stream_unexpected(AGENT_OUTPUT, err);
	if (c->recorder)
		command_recorder_add(c->recorder, o->bytes);
	if (c->form == OUTPUT_RESULT) {
		output_collector_add(&c->collector, o);
		return 0;
	}
	output_events_bytes(&c->events, &c->out, o);
	flush_output(c, relay);
	return 0;
}

/* A node without support for TypeScript refuses its options with status 9. */
static int check_typescript(struct command_stream *c, const struct agent_process *p,
                            struct error *err)
{
	const struct buf *complaint = &c->collector.streams[1].head;

	if (p->exit_code != 9 || strcmp(c->runtimes[c->at], "typescript") != 0 ||
	    !span_starts_with(buf_span(complaint), "node: "))
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "this template cannot run typescript");
	error_hint(err, "it needs tsx, or node 22.7 or later");
	return -1;
}

/* The result lacks only its end. */
static void answer_result(struct command_stream *c, struct relay *relay)
{
	c->stream.ended = true;
	if (c->listed_root || c->saver)
		json_end_list(&c->out);
	json_end_object(&c->out);
	relay_answer(relay, 200, "application/json", buf_span(&c->out));
}

/* The answer in a surface's own form. */
static int answer_written(struct command_stream *c, struct relay *relay,
                          const struct agent_process *p, struct error *err)
{
	c->stream.ended = true;
	if (c->write_result(&c->collector, p, &c->out, err) < 0)
		return -1;
	relay_answer(relay, 200, "application/json", buf_span(&c->out));
	return 0;
}

static void write_result(struct command_stream *c, const struct agent_process *p)
{
	struct decision_refusals refusals;

	decision_watch_end(&c->watch, &refusals);
	output_collector_write(&c->collector, p, c->runtimes[c->at], &c->out);
	decision_refusals_write(&c->out, &refusals);
	if (c->recorder)
		json_add_text(&c->out, "recording", command_recorder_id(c->recorder));
	if (c->listed_root || c->saver)
		json_begin_list(&c->out, "artifacts");
}

/* The end of a stream of events, after the stored artifacts. */
static void finish_events(struct command_stream *c, struct relay *relay,
                          const struct agent_process *p)
{
	struct decision_refusals refusals;

	decision_watch_end(&c->watch, &refusals);
	c->events.recording = c->recorder ? command_recorder_id(c->recorder) : NULL;
	output_events_exit(&c->events, &c->out, p, &refusals);
	flush_output(c, relay);
	relay_finish(relay);
}

static void finish_command(struct command_stream *c, struct relay *relay)
{
	if (c->form == OUTPUT_RESULT)
		answer_result(c, relay);
	else
		finish_events(c, relay, &c->exit);
}

static void on_saved(void *context)
{
	struct command_stream *c = context;
	struct span json;

	for (size_t i = 0; (json = artifact_saver_json(c->saver, i)).size > 0; i++) {
		if (c->form == OUTPUT_RESULT)
			json_add_raw(&c->out, NULL, json);
		else
			output_events_artifact(&c->events, &c->out, json);
	}
	artifact_saver_note(c->saver, c->stream.note);
	finish_command(c, c->relay);
}

static int ask_for_files(struct command_stream *c, struct relay *relay,
                         const struct agent_process *p, struct error *err)
{
	const struct agent_path message = {
	        .root = c->listed_root,
	        .path = ".",
	        .user = c->listed_user,
	        .flags = AGENT_PATH_BENEATH,
	        .depth = FLEET_ARTIFACTS_DEPTH,
	        .offset = p->started_unix_ms - FLEET_ARTIFACTS_LAG_MS,
	        .size_max = RESULT_ARTIFACTS_MAX,
	};

	c->is_listing = true;
	return stream_send(relay, AGENT_LIST, agent_path_shape, &message, err);
}

static int on_exit(struct command_stream *c, struct relay *relay, const struct agent_process *p,
                   struct error *err)
{
	c->exit = *p;
	c->relay = relay;
	if (c->write_result)
		return answer_written(c, relay, p, err);
	c->stream.ended = !c->listed_root;
	if (c->form == OUTPUT_RESULT) {
		if (check_typescript(c, p, err) < 0)
			return -1;
		write_result(c, p);
	}
	if (c->listed_root)
		return ask_for_files(c, relay, p, err);
	if (!c->saver || !artifact_saver_start(c->saver, p->process, (int64_t)p->started_unix_ms))
		finish_command(c, relay);
	return 0;
}

static int on_detached(struct command_stream *c, struct relay *relay, struct error *err)
{
	if (c->form == OUTPUT_RESULT || !c->started)
		return stream_unexpected(AGENT_DONE, err);
	c->stream.ended = true;
	relay_finish(relay);
	return 0;
}

/* The agent answers NOT_FOUND for users and folders too. */
static bool is_missing_program(uint32_t code, const char *text)
{
	return code == ERROR_NOT_FOUND && strncmp(text, "command not found", 17) == 0;
}

/* Answers like a shell: exit code 127 and a line on stderr. */
static int answer_missing(struct command_stream *c, struct relay *relay, struct error *err)
{
	struct agent_process p = {.exit_code = 127};
	AUTO(buf_done) struct buf text = BUF(256);
	struct agent_output o = {.stream = AGENT_STDERR};

	buf_addf(&text, "%.63s: command not found\n", c->program);
	o.bytes = buf_span(&text);
	activity_add_output(c->stream.note, o.bytes);
	activity_report(c->stream.note,
	                &(struct activity_result){ACTIVITY_FAILED, p.exit_code, -1, NULL});
	if (c->form == OUTPUT_RESULT) {
		output_collector_add(&c->collector, &o);
		if (c->write_result)
			return answer_written(c, relay, &p, err);
		write_result(c, &p);
		answer_result(c, relay);
		return 0;
	}
	c->stream.ended = true;
	relay_begin(relay, 200, output_content_type(c->form), -1);
	output_events_bytes(&c->events, &c->out, &o);
	output_events_exit(&c->events, &c->out, &p, NULL);
	flush_output(c, relay);
	relay_finish(relay);
	return 0;
}

static int on_failed(struct command_stream *c, struct relay *relay, struct span payload,
                     struct error *err)
{
	struct agent_failed failed;

	if (stream_decode(&c->stream, payload, agent_failed_shape, &failed, sizeof(failed), err) <
	    0)
		return -1;
	if (c->started || c->count == 0 || !is_missing_program(failed.code, failed.text)) {
		c->stream.ended = true;
		return compute_failed(payload, err);
	}
	if (c->at + 1 < c->count) {
		c->at++;
		relay_to_upstream(relay, buf_span(&c->execs[c->at]));
		return 0;
	}
	return answer_missing(c, relay, err);
}

/* When the workspace cannot be listed, the command is answered without artifacts. */
static int on_listed(struct command_stream *c, struct relay *relay, uint16_t type,
                     struct span payload, struct error *err)
{
	struct agent_file file;

	if (type == AGENT_DONE || type == AGENT_FAILED) {
		answer_result(c, relay);
		return 0;
	}
	if (type != AGENT_FILE)
		return stream_unexpected(type, err);
	if (stream_decode(&c->stream, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	if (c->listed++ >= RESULT_ARTIFACTS_MAX)
		return 0;
	result_add_artifact(&c->out, file.path, (int64_t)file.size);
	return 0;
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	struct command_stream *c = command_of(s);
	struct agent_process p;
	struct agent_output o;

	if (c->is_listing)
		return on_listed(c, relay, type, payload, err);
	if (type == AGENT_FAILED)
		return on_failed(c, relay, payload, err);
	if (type == AGENT_DONE)
		return on_detached(c, relay, err);
	if (type == AGENT_OUTPUT) {
		if (stream_decode(s, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		return on_output(c, relay, &o, err);
	}
	if (type != AGENT_STARTED && type != AGENT_EXIT)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_process_shape, &p, sizeof(p), err) < 0)
		return -1;
	if (c->started == (type == AGENT_STARTED))
		return stream_unexpected(type, err);
	return type == AGENT_STARTED ? on_started(c, relay, &p, err) : on_exit(c, relay, &p, err);
}

static void on_tick(struct stream *s, struct relay *relay)
{
	struct command_stream *c = command_of(s);
	struct error err;

	if (c->waits) {
		(void)FAIL(&err, ERROR_TIMEOUT, "the process is still running");
		error_hint(&err, "wait again, or stream it");
		relay_fail(relay, &err);
		return;
	}
	if (!c->started)
		return;
	output_events_idle(&c->events, &c->out);
	flush_output(c, relay);
}

static int on_sandbox_end(struct stream *s, struct relay *relay, const struct error *err)
{
	struct command_stream *c = command_of(s);

	if (!c->started || (c->form != OUTPUT_SSE && c->form != OUTPUT_NDJSON))
		return -1;
	output_events_error(&c->events, &c->out, err);
	flush_output(c, relay);
	relay_finish(relay);
	return 0;
}

static const struct stream_ops command_ops = {
        .size = sizeof(struct command_stream),
        .on_message = on_message,
        .on_tick = on_tick,
        .on_sandbox_end = on_sandbox_end,
        .done = command_done,
        .takes_failures = true,
        .is_process = true,
};

/* Room for one chunk as an escaped event (six bytes a byte at worst), and for the files of a whole
 * result. */
#define OUT_MAX ((size_t)6 * AGENT_DATA_MAX + (size_t)RESULT_ARTIFACTS_MAX * 6 * 4200)

static struct command_stream *command_new(struct api_target *t, enum output_form form,
                                          int64_t output_limit)
{
	struct stream *s = stream_new(&command_ops, t->hold);
	struct command_stream *c = command_of(s);

	c->form = form;
	c->out = BUF((size_t)12 * (size_t)output_limit + OUT_MAX);
	output_events_init(&c->events, form, (const uint64_t[2]){0, 0});
	output_collector_init(&c->collector, (size_t)output_limit);
	return c;
}

int command_limit(struct request *rq, const struct api_target *t, const struct sandbox_command *c,
                  struct sandbox_command *ret, struct error *err)
{
	struct run_limits limits;

	if (run_limits_find(rq, t->record, &limits, err) < 0 ||
	    run_limits_check(&limits, c->alternatives[0].args, err) < 0)
		return -1;
	*ret = *c;
	ret->exec.timeout_ms =
	        (uint64_t)run_limit_apply((int64_t)c->exec.timeout_ms, limits.timeout_ms);
	ret->output_limit = run_limit_output(rq, c->output_limit, &limits);
	return 0;
}

/* Encodes the alternatives after the first one, which compute_open sends. */
static int encode_alternatives(struct command_stream *s, const struct sandbox_command *c,
                               struct agent_exec *exec, struct error *err)
{
	s->count = c->count;
	if (c->may_be_warm)
		exec->flags |= AGENT_EXEC_WARM;
	s->program = arena_text(&s->texts, c->alternatives[c->count - 1].args[0]);
	if (c->stdin_bytes.size > STDIN_INLINE_MAX) {
		exec->flags |= AGENT_EXEC_STDIN;
		s->stdin_bytes = BUF(c->stdin_bytes.size);
		buf_add_span(&s->stdin_bytes, c->stdin_bytes);
	} else {
		exec->stdin_bytes = c->stdin_bytes;
	}
	for (unsigned i = 0; i < c->count; i++) {
		s->runtimes[i] = c->alternatives[i].runtime;
		s->execs[i] = BUF(WIRE_PAYLOAD_MAX + WIRE_HEAD_SIZE);
		exec->args = c->alternatives[i].args;
		if (i > 0 && wire_encode(&s->execs[i], AGENT_EXEC, agent_exec_shape, exec, err) < 0)
			return -1;
	}
	exec->args = c->alternatives[0].args;
	return 0;
}

static struct activity_note *begin_note(const struct request *rq, const struct api_target *t,
                                        const struct sandbox_command *c)
{
	const char *const *args = c->alternatives[0].args;
	const struct api_activity_call call = {
	        .kind = c->code ? ACTIVITY_CODE : ACTIVITY_COMMAND,
	        .operation = c->code ? c->alternatives[0].runtime : "exec",
	};
	struct activity_note *n = api_activity_begin(rq, t, &call);

	if (c->code || c->line)
		activity_add_text(n, span_of(c->code ? c->code : c->line));
	else
		api_activity_add_args(n, args);
	return n;
}

static int begin_recorder(struct request *rq, const struct api_target *t,
                          const struct sandbox_command *c, struct command_recorder **ret,
                          struct error *err)
{
	const char *const *args = c->alternatives[0].args;
	const struct command_recording recording = {
	        .title = c->code   ? c->code
	                 : c->line ? c->line
	                           : args[0],
	        .rows = c->exec.rows,
	        .columns = c->exec.columns,
	};

	return c->is_recorded ? command_recorder_new(rq, t, &recording, ret, err) : 0;
}

static int start_limited(struct request *rq, struct api_target *t, const struct sandbox_command *c,
                         struct command_recorder *recorder, struct reply *reply, struct error *err)
{
	struct activity_note *note = begin_note(rq, t, c);
	struct command_stream *s = command_new(t, c->form, c->output_limit);
	struct agent_exec exec = c->exec;
	struct stream_options options = {.request = AGENT_EXEC,
	                                 .tick_ms = c->form == OUTPUT_SSE ? EVENT_IDLE_MS : 0};

	s->stream.note = note;
	s->recorder = recorder;
	s->watch = api_watch_network(rq, t, &s->texts);
	s->write_result = c->write_result;
	if (c->keep_root) {
		s->saver = artifact_saver_new(rq, &(struct artifact_saver_options){
		                                          .sandbox_id = s->stream.hold.id,
		                                          .root = c->keep_root,
		                                          .user = c->exec.user,
		                                          .on_done = on_saved,
		                                          .context = s,
		                                  });
	} else if (c->artifacts_root && c->form == OUTPUT_RESULT) {
		s->listed_root = arena_text(&s->texts, c->artifacts_root);
		s->listed_user = arena_text(&s->texts, c->exec.user ? c->exec.user : "");
	}
	if (provider_require(s->stream.hold.provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    encode_alternatives(s, c, &exec, err) < 0 ||
	    compute_open(s->stream.hold.provider, s->stream.hold.id,
	                 &(struct compute_request){AGENT_EXEC, agent_exec_shape, &exec},
	                 rq->deadline, &options.fd, err) < 0) {
		stream_free(&s->stream);
		/* On the loop's thread the deadline is now: let a worker wait for the agent. */
		if (err->code == ERROR_TIMEOUT)
			(void)!request_may_block(rq, err);
		return -1;
	}
	stream_start(&s->stream, reply, &options);
	return 0;
}

int command_start(struct request *rq, struct api_target *t, const struct sandbox_command *c,
                  struct reply *reply, struct error *err)
{
	struct sandbox_command limited;
	struct command_recorder *recorder = NULL;

	if (command_limit(rq, t, c, &limited, err) < 0 ||
	    begin_recorder(rq, t, &limited, &recorder, err) < 0)
		return -1;
	return start_limited(rq, t, &limited, recorder, reply, err);
}

static int attach_limited(struct request *rq, struct api_target *t,
                          const struct command_attach *attach, struct reply *reply,
                          struct error *err)
{
	struct command_stream *s = command_new(t, attach->form, attach->output_limit);
	struct stream_options options = {.request = AGENT_ATTACH, .tick_ms = attach->wait_ms};
	struct agent_attach message = {
	        .process = attach->process,
	        .since = {attach->since[0], attach->since[1]},
	        .read_only = 1,
	        .until_end = attach->follow,
	};

	s->waits = attach->wait_ms > 0;
	s->runtimes[0] = "process";
	output_events_init(&s->events, attach->form, attach->since);
	if (attach->form == OUTPUT_SSE)
		options.tick_ms = EVENT_IDLE_MS;
	if (compute_open(s->stream.hold.provider, s->stream.hold.id,
	                 &(struct compute_request){AGENT_ATTACH, agent_attach_shape, &message},
	                 rq->deadline, &options.fd, err) < 0) {
		stream_free(&s->stream);
		return -1;
	}
	stream_start(&s->stream, reply, &options);
	return 0;
}

int command_attach(struct request *rq, struct api_target *t, const struct command_attach *attach,
                   struct reply *reply, struct error *err)
{
	struct command_attach limited = *attach;
	struct run_limits limits;

	if (run_limits_find(rq, t->record, &limits, err) < 0)
		return -1;
	limited.output_limit = run_limit_output(rq, attach->output_limit, &limits);
	return attach_limited(rq, t, &limited, reply, err);
}
