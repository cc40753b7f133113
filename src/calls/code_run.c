/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/code_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "calls/artifact_saver.h"
#include "calls/code_notes.h"
#include "calls/configs.h"
#include "calls/stream.h"
#include "code/block.h"
#include "code/queue.h"
#include "edge/api.h"
#include "fleet/lifecycle/hold.h"
#include "http/server/http.h"
#include "loop/loop.h"
#include "provider/compute.h"
#include "worker/worker.h"

#define TICK_MS 500
#define GRACE_MS 5000      /* from an interrupt until the kernel is ended */
#define INTERRUPT_MS 30000 /* after a client has disconnected; a kernel may have to start first */
#define ARTIFACTS_MAX ((size_t)4 * 1024 * 1024)
#define RESULTS_MAX ((size_t)32 * 1024 * 1024) /* of a collected answer */
#define ERROR_MAX ((size_t)2 * 1024 * 1024)
#define OUT_MAX ((size_t)6 * CODE_MESSAGE_MAX + RESULTS_MAX)

/* A place in the context's queue. It outlives the run while the block is interrupted. */
struct code_run_place {
	struct code_queue_place turn;
	struct code_run *run; /* NULL: the client has disconnected */
	struct api *api;
	struct fleet_hold hold;
	struct code_sent sent; /* the block; valid once it was sent */
	struct worker_task task;
	struct loop_task interrupted;
};

struct code_run {
	struct stream stream;
	struct code_run_place *place;
	struct relay *relay;
	const struct code_writer *writer;
	struct code_reader reader;
	struct code_outcome outcome;
	struct buf request, out;
	struct artifact_saver *saver;      /* NULL: no file is stored */
	struct command_recorder *recorder; /* NULL: it is not recorded */
	int64_t timeout_max_ms;            /* of the sandbox's config; 0 = none */
	int64_t timeout_ms, began_at, began_unix_ms, interrupted_at, written_at;
	bool is_sent, is_over;
	struct code_run_socket *socket; /* NULL: not a WebSocket */
};

/* Waits for a WebSocket's first message. */
struct code_run_socket {
	struct code_socket options;
	struct code_context contexts[CODE_CONTEXTS_MAX]; /* texts in `ids` */
	char ids[CODE_CONTEXTS_MAX][CODE_ID_MAX + 1];
	size_t count;
	bool is_asked;
};

static struct code_run *run_of(struct stream *s)
{
	return CONTAINER_OF(s, struct code_run, stream);
}

static void on_interrupted(struct loop_task *task)
{
	struct code_run_place *place = CONTAINER_OF(task, struct code_run_place, interrupted);

	code_queue_leave(place->api->code_queue, &place->turn);
	free(place);
}

static void interrupt_block(struct worker_task *task)
{
	struct code_run_place *place = CONTAINER_OF(task, struct code_run_place, task);
	const struct code_at at = {
	        .contexts = place->api->code_contexts,
	        .hold = &place->hold,
	        .deadline = deadline_after(INTERRUPT_MS),
	};
	struct error err = {0};

	if (code_block_end(&at, &place->sent, &err) < 0)
		log_warning("a block of code runs on without its client",
		            TEXT("sandbox", place->turn.sandbox), FAILURE(&err));
	fleet_unhold(&place->hold);
	loop_post(place->api->loop, &place->interrupted);
}

/* Takes the place and the hold. The interrupt may take long, so it runs on `waiters`, in the slow
 * lane, which uses at most half of the threads. */
static void interrupt_on_worker(struct code_run_place *place, struct fleet_hold *hold)
{
	struct worker_pool *waiters = place->api->waiters;
	struct error err = {0};

	place->run = NULL;
	place->hold = *hold;
	*hold = (struct fleet_hold){.fleet = NULL};
	place->task = (struct worker_task){.lane = WORKER_SLOW,
	                                   .run = interrupt_block,
	                                   .shares = {worker_share_id(place->turn.sandbox)}};
	place->interrupted = (struct loop_task){.run = on_interrupted};
	if (worker_submit(waiters ? waiters : place->api->workers, &place->task, &err) == 0)
		return;
	log_warning("a block of code runs on without its client",
	            TEXT("sandbox", place->turn.sandbox), FAILURE(&err));
	fleet_unhold(&place->hold);
	on_interrupted(&place->interrupted);
}

static void run_done(struct stream *s)
{
	struct code_run *run = run_of(s);
	struct code_run_place *place = TAKE(run->place);

	if (run->socket && !run->socket->is_asked) {
		activity_forget(s->note);
		s->note = NULL;
	}
	if (run->is_sent && !run->is_over) {
		interrupt_on_worker(place, &s->hold);
	} else {
		code_queue_leave(place->api->code_queue, &place->turn);
		free(place);
	}
	code_reader_done(&run->reader);
	for (unsigned i = 0; i < 2; i++)
		head_tail_done(&run->outcome.streams[i]);
	buf_done(&run->outcome.results);
	buf_done(&run->outcome.error);
	buf_done(&run->outcome.artifacts);
	artifact_saver_free(run->saver);
	code_recorder_end(run->recorder);
	buf_done(&run->request);
	buf_done(&run->out);
	free(run->socket);
}

static void flush_output(struct code_run *run)
{
	if (run->out.size > 0) {
		if (run->socket)
			relay_write_text_message(run->relay, buf_span(&run->out));
		else
			relay_write(run->relay, buf_span(&run->out));
		run->written_at = clock_monotonic_ms();
	}
	buf_reset(&run->out);
}

static void on_event(void *context, const struct code_event *event)
{
	struct code_run *run = context;

	if (event->kind == CODE_BEGIN) {
		run->outcome.count = event->count;
		run->outcome.recording = code_recorder_started(run->recorder, run->outcome.process);
		fault_point("api", "code-block-begun");
	}
	code_note_event(run->stream.note, run->recorder, event);
	if (event->kind == CODE_ERROR)
		run->outcome.has_failed = true;
	if (event->kind == CODE_END)
		run->outcome.exit_code =
		        event->status > 0 ? event->status : run->outcome.has_failed;
	if (run->writer->collects) {
		code_outcome_add(&run->outcome, event);
		return;
	}
	run->writer->write(&run->outcome, event, &run->out);
	flush_output(run);
}

/* The kernel still runs, so no AGENT_EXIT reports the timeout. */
static void note_timeout(const struct code_run *run)
{
	stream_note_end(&run->stream, &(struct agent_process){
	                                      .process = run->outcome.process,
	                                      .state = AGENT_PROCESS_ENDED,
	                                      .exit_code = run->outcome.exit_code,
	                                      .timed_out = 1,
	                                      .started_unix_ms = (uint64_t)run->began_unix_ms,
	                                      .duration_ms = (uint64_t)run->outcome.duration_ms,
	                              });
}

static void end_block(struct code_run *run)
{
	run->is_over = true;
	run->outcome.duration_ms = run->began_at ? clock_monotonic_ms() - run->began_at : 0;
	code_note_end(run->stream.note, &run->outcome);
	if (run->outcome.timed_out)
		note_timeout(run);
	code_queue_leave(run->place->api->code_queue, &run->place->turn);
}

static void write_answer(struct code_run *run)
{
	run->writer->write_end(&run->outcome, &run->out);
	if (run->writer->collects) {
		relay_answer(run->relay, 200, run->writer->content_type, buf_span(&run->out));
		return;
	}
	flush_output(run);
	if (run->socket && run->outcome.timed_out)
		relay_finish_websocket(run->relay, run->socket->options.timed_out_code,
		                       "the block has run out of time");
	else
		relay_finish(run->relay);
}

static void on_saved(void *context)
{
	struct code_run *run = context;
	struct span json;

	for (size_t i = 0; (json = artifact_saver_json(run->saver, i)).size > 0; i++) {
		if (run->writer->collects) {
			buf_add_text(&run->outcome.artifacts, i > 0 ? "," : "");
			buf_add_span(&run->outcome.artifacts, json);
		} else if (run->writer->write_artifact) {
			run->writer->write_artifact(json, &run->out);
		}
	}
	artifact_saver_note(run->saver, run->stream.note);
	write_answer(run);
}

/* The agent's reply has ended. */
static void finish_run(struct code_run *run)
{
	run->stream.ended = true;
	if (!run->saver ||
	    !artifact_saver_start(run->saver, run->outcome.process, run->began_unix_ms))
		write_answer(run);
}

/* The kernel has ended, by itself or by a signal of this run. */
static void on_kernel_end(struct code_run *run, const struct agent_process *p)
{
	struct code_event event = {.kind = CODE_ERROR, .name = "KernelEnded", .traceback = ""};
	AUTO(buf_done) struct buf text = BUF(512);

	code_outcome_lose_kernel(&run->outcome, p, &text);
	event.value = buf_text(&text);
	on_event(run, &event);
	run->outcome.exit_code = p->exit_code > 0 ? p->exit_code : 1;
	end_block(run);
	finish_run(run);
}

/* Sends the block as one message, so that the kernel never gets a part of it. */
static void on_queue_place(struct code_queue_place *turn)
{
	unsigned char head[WIRE_HEAD_SIZE];
	struct code_run_place *place = CONTAINER_OF(turn, struct code_run_place, turn);
	struct code_run *run = place->run;

	run->is_sent = true;
	place->sent.process = turn->process;
	memcpy(place->sent.nonce, run->reader.nonce, sizeof(place->sent.nonce));
	run->began_at = clock_monotonic_ms();
	run->began_unix_ms = clock_unix_ms();
	wire_put_head(head, AGENT_STDIN, (uint32_t)run->request.size);
	relay_to_upstream(run->relay, (struct span){(const char *)head, sizeof(head)});
	relay_to_upstream(run->relay, buf_span(&run->request));
	buf_done(&run->request);
}

static int on_started(struct code_run *run, struct relay *relay, struct error *err)
{
	if (run->relay)
		return stream_unexpected(AGENT_STARTED, err);
	run->relay = relay;
	run->written_at = clock_monotonic_ms();
	if (code_queue_enter(run->place->api->code_queue, &run->place->turn, err) < 0)
		return -1;
	if (run->writer->collects || run->socket)
		return 0;
	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, run->writer->content_type, -1);
	return 0;
}

static int on_output(struct code_run *run, const struct agent_output *o, struct error *err)
{
	if (!run->relay || (o->stream != AGENT_STDOUT && o->stream != AGENT_STDERR))
		return stream_unexpected(AGENT_OUTPUT, err);
	if (!run->is_sent || run->is_over)
		return 0;
	code_reader_feed(&run->reader, o->stream, o->bytes);
	if (!code_reader_is_over(&run->reader))
		return 0;
	end_block(run);
	return stream_send(run->relay, AGENT_DETACH, NULL, NULL, err);
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	struct code_run *run = run_of(s);
	struct agent_process p;
	struct agent_output o;

	if (type == AGENT_FAILED) {
		s->ended = true;
		return compute_failed(payload, err);
	}
	if (type == AGENT_OUTPUT) {
		if (stream_decode(s, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		return on_output(run, &o, err);
	}
	if (type == AGENT_DONE && run->is_over) {
		finish_run(run);
		return 0;
	}
	if (type != AGENT_STARTED && type != AGENT_EXIT)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_process_shape, &p, sizeof(p), err) < 0)
		return -1;
	if (type == AGENT_STARTED)
		return on_started(run, relay, err);
	if (!run->relay)
		return stream_unexpected(type, err);
	/* When the kernel ended right after the block, the agent may still answer AGENT_DETACH, so
	 * the connection cannot be reused. */
	if (run->is_over)
		write_answer(run);
	else
		on_kernel_end(run, &p);
	return 0;
}

static void signal_kernel(struct code_run *run, uint32_t number, bool whole_tree)
{
	const struct agent_signal signal = {.signal = number, .whole_tree = whole_tree};
	struct error ignored;

	(void)!stream_send(run->relay, AGENT_SIGNAL, agent_signal_shape, &signal, &ignored);
}

static void on_tick(struct stream *s, struct relay *relay)
{
	struct code_run *run = run_of(s);
	int64_t now = clock_monotonic_ms();

	(void)relay;
	if (!run->relay || run->is_over)
		return;
	if (run->writer->idle_ms && now - run->written_at >= run->writer->idle_ms) {
		buf_add_text(&run->out, run->writer->idle);
		flush_output(run);
	}
	if (!run->is_sent || run->timeout_ms == 0 || now - run->began_at < run->timeout_ms)
		return;
	if (run->interrupted_at == 0) {
		run->outcome.timed_out = true;
		run->interrupted_at = now;
		signal_kernel(run, SIGINT, false);
	} else if (now - run->interrupted_at >= GRACE_MS) {
		signal_kernel(run, SIGKILL, true);
	}
}

static int on_sandbox_end(struct stream *s, struct relay *relay, const struct error *err)
{
	struct code_run *run = run_of(s);
	const struct code_event event = {
	        .kind = CODE_ERROR, .name = "SandboxEnded", .value = err->text, .traceback = ""};

	(void)relay;
	if (!run->relay || !run->writer->outlives_sandbox)
		return -1;
	if (!run->is_over) {
		on_event(run, &event);
		end_block(run);
	}
	write_answer(run);
	return 0;
}

static const struct stream_ops run_ops = {
        .size = sizeof(struct code_run),
        .on_message = on_message,
        .on_tick = on_tick,
        .on_sandbox_end = on_sandbox_end,
        .done = run_done,
        .takes_failures = true,
};

static void init_outcome(struct code_outcome *outcome, const struct code_run_options *o)
{
	const struct code_context *c = o->context;

	memcpy(outcome->context, c->id, strlen(c->id) + 1);
	outcome->language = c->language;
	outcome->process = c->process;
	outcome->results = BUF(RESULTS_MAX);
	outcome->error = BUF(ERROR_MAX);
	outcome->artifacts = BUF(ARTIFACTS_MAX);
	for (unsigned i = 0; i < 2; i++)
		head_tail_init(&outcome->streams[i], (size_t)o->output_limit);
}

static struct code_run_place *new_queue_place(struct code_run *run, const struct code_context *c,
                                              struct api *api)
{
	struct code_run_place *place = memory_new(sizeof(*place));

	place->run = run;
	place->api = api;
	place->turn.process = c->process;
	memcpy(place->sent.since, c->output_end, sizeof(place->sent.since));
	place->turn.on_turn = on_queue_place;
	memcpy(place->turn.sandbox, run->stream.hold.id, sizeof(place->turn.sandbox));
	return place;
}

static void set_block(struct code_run *run, const struct code_run_options *o)
{
	run->timeout_ms = run_limit_apply(o->timeout_ms, run->timeout_max_ms);
	code_write_request(&run->request, &(struct code_request){
	                                          .language = o->context->language,
	                                          .nonce = run->reader.nonce,
	                                          .code = o->code,
	                                          .env = o->env,
	                                  });
}

static struct code_run *new_run(struct api_target *t, const struct code_run_options *o)
{
	struct stream *s = stream_new(&run_ops, t->hold);
	struct code_run *run = run_of(s);
	char nonce[CODE_NONCE_SIZE];

	code_new_nonce(nonce);
	code_reader_init(&run->reader, nonce);
	run->reader.on_event = on_event;
	run->reader.context = run;
	run->writer = o->writer;
	run->timeout_max_ms = o->timeout_max_ms;
	run->out = BUF(OUT_MAX + (size_t)12 * (size_t)o->output_limit);
	run->request = BUF(WIRE_PAYLOAD_MAX);
	init_outcome(&run->outcome, o);
	if (o->code)
		set_block(run, o);
	return run;
}

static int limit_run(struct request *rq, const struct api_target *t,
                     const struct code_run_options *options, struct code_run_options *ret,
                     struct error *err)
{
	const char *const args[] = {code_programs[options->context->language], NULL};
	struct run_limits limits;

	if (run_limits_find(rq, t->record, &limits, err) < 0 ||
	    (options->code && run_limits_check(&limits, args, err) < 0))
		return -1;
	*ret = *options;
	ret->timeout_ms = run_limit_apply(options->timeout_ms, limits.timeout_ms);
	ret->timeout_max_ms = limits.timeout_ms;
	ret->output_limit = run_limit_output(rq, options->output_limit, &limits);
	return 0;
}

static int start_limited(struct request *rq, struct api_target *t,
                         const struct code_run_options *options, struct reply *reply,
                         struct error *err)
{
	struct command_recorder *recorder = NULL;
	struct activity_note *note;
	struct code_run *run;
	struct stream_options stream = {.request = AGENT_ATTACH, .tick_ms = TICK_MS};
	const struct agent_attach attach = {
	        .process = options->context->process,
	        .since = {options->context->output_end[0], options->context->output_end[1]},
	        .until_end = 1,
	};

	if (options->is_recorded && code_recorder_new(rq, t, options->code, &recorder, err) < 0)
		return -1;
	note = code_note_begin(rq, t, options->context->language, options->code);
	run = new_run(t, options);
	run->recorder = recorder;
	run->place = new_queue_place(run, options->context, api_of(rq));
	run->stream.note = note;
	if (options->keep_root)
		run->saver = artifact_saver_new(rq, &(struct artifact_saver_options){
		                                            .sandbox_id = run->stream.hold.id,
		                                            .root = options->keep_root,
		                                            .user = options->context->user,
		                                            .on_done = on_saved,
		                                            .context = run,
		                                    });
	if (compute_open(run->stream.hold.provider, run->stream.hold.id,
	                 &(struct compute_request){AGENT_ATTACH, agent_attach_shape, &attach},
	                 rq->deadline, &stream.fd, err) < 0) {
		stream_free(&run->stream);
		return -1;
	}
	stream_start(&run->stream, reply, &stream);
	return 0;
}

int code_run_start(struct request *rq, struct api_target *t, const struct code_run_options *options,
                   struct reply *reply, struct error *err)
{
	struct code_run_options limited;

	if (limit_run(rq, t, options, &limited, err) < 0)
		return -1;
	return start_limited(rq, t, &limited, reply, err);
}

static const struct code_context *find_context(const struct code_run_socket *socket, const char *id)
{
	for (size_t i = 0; i < socket->count; i++)
		if (strcmp(socket->ids[i], id) == 0)
			return &socket->contexts[i];
	return NULL;
}

/* Starts the block of a WebSocket's first message. Nothing was sent to the agent before. */
static int start_socket_block(struct code_run *run, struct relay *relay, struct span message,
                              struct error *err)
{
	struct code_run_socket *socket = run->socket;
	struct agent_attach attach = {.until_end = 1};
	const struct code_context *context;
	struct code_socket_request asked;

	if (socket->options.read(&run->stream.arena, message, &asked, err) < 0)
		return -1;
	context = find_context(socket, asked.context);
	if (!context)
		return FAIL(err, ERROR_NOT_FOUND, "there is no context '%s'", asked.context);
	if (code_source_check(context->language, asked.code, &asked.env, err) < 0)
		return -1;
	run->outcome.language = context->language;
	run->outcome.process = run->place->turn.process = attach.process = context->process;
	memcpy(run->outcome.context, context->id, strlen(context->id) + 1);
	memcpy(attach.since, context->output_end, sizeof(attach.since));
	memcpy(run->place->sent.since, context->output_end, sizeof(attach.since));
	set_block(run, &(struct code_run_options){.context = context,
	                                          .code = asked.code,
	                                          .env = &asked.env,
	                                          .timeout_ms = asked.timeout_ms});
	activity_set_operation(run->stream.note, code_languages[context->language]);
	activity_add_text(run->stream.note, span_of(asked.code));
	socket->is_asked = true;
	return stream_send(relay, AGENT_ATTACH, agent_attach_shape, &attach, err);
}

/* Messages after the first one are ignored. */
static int on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	struct code_run *run = run_of(s);
	int result;

	(void)last;
	if (run->socket->is_asked || bytes.size == 0)
		return 0;
	result = start_socket_block(run, relay, bytes, err);
	arena_reset(&s->arena);
	return result;
}

static const struct stream_ops socket_ops = {
        .size = sizeof(struct code_run),
        .on_message = on_message,
        .on_client = on_client,
        .on_tick = on_tick,
        .done = run_done,
};

static struct code_run_socket *new_socket(const struct code_socket *options)
{
	struct code_run_socket *socket = memory_new(sizeof(*socket));

	socket->options = *options;
	socket->options.contexts = NULL;
	for (size_t i = 0; i < options->contexts->count && i < CODE_CONTEXTS_MAX; i++) {
		const struct code_context *c = &options->contexts->items[i];

		memcpy(socket->ids[i], c->id, strlen(c->id) + 1);
		socket->contexts[i] = *c;
		socket->contexts[i].id = socket->ids[i];
		socket->contexts[i].cwd = socket->contexts[i].user = "";
		socket->count++;
	}
	return socket;
}

int code_run_websocket(struct request *rq, struct api_target *t, const struct code_socket *socket,
                       struct reply *reply, struct error *err)
{
	static const struct code_context none = {.id = ""};
	const struct code_run_options wanted = {.context = &none, .writer = socket->writer};
	struct stream_options stream = {.tick_ms = TICK_MS};
	struct code_run_options options;
	const struct fleet_hold *hold;
	struct code_run *run;

	if (limit_run(rq, t, &wanted, &options, err) < 0)
		return -1;
	run = new_run(t, &options);
	hold = &run->stream.hold;
	run->stream.ops = &socket_ops;
	run->stream.note = code_note_begin(rq, t, CODE_PYTHON, NULL);
	run->socket = new_socket(socket);
	run->place = new_queue_place(run, &none, api_of(rq));
	if (compute_connect(hold->provider, hold->id, rq->deadline, &stream.fd, err) < 0) {
		stream_free(&run->stream);
		return -1;
	}
	return stream_start_websocket(&run->stream, rq, reply, &stream, err);
}
