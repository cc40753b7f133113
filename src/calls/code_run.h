/* SPDX-License-Identifier: Apache-2.0 */
/* calls/code_run.h — runs a block of code in a context, for every surface that has contexts. The
 * reply streams the output, or has all of it at the end.
 *
 * The run attaches to the kernel, waits in the context's queue, and sends the block. When the
 * client disconnects, the block is interrupted, and only then the next block runs. A block that
 * exceeds its time is interrupted; the kernel is killed when that does not help. All functions run
 * on the loop's thread, except the interrupt of a block whose client has disconnected. */
#pragma once

#include "base/head_tail.h"
#include "code/code.h"
#include "json/json.h"

struct agent_process;
struct api_target;
struct code_event;
struct reply;
struct request;

/* The outcome of a run. The streams, results, error and artifacts are collected only for writers
 * with `collects`. */
struct code_outcome {
	char context[CODE_ID_MAX + 1];
	enum code_language language;
	uint64_t process;
	int64_t count; /* number of the kernel's blocks, with this one; 0: it has not begun */
	int64_t exit_code, duration_ms;
	bool has_failed, timed_out;
	const char *cause;     /* of the kernel's end, agent_process_cause; NULL: the kernel runs */
	bool has_lost_kernel;  /* the kernel ended before or with the block */
	const char *recording; /* its id, once the block has begun; NULL: none */
	struct head_tail streams[2];
	uint64_t sizes[2];
	struct buf results;   /* JSON objects, separated by commas */
	struct buf error;     /* a JSON object */
	struct buf artifacts; /* like results; of a run with keep_root */
	bool is_cut;          /* a result was left out because it did not fit */
};

/* Collects an event. */
void code_outcome_add(struct code_outcome *outcome, const struct code_event *event);
/* Notes the kernel's end, and writes it as a sentence. */
void code_outcome_lose_kernel(struct code_outcome *outcome, const struct agent_process *kernel,
                              struct buf *text);

/* How a surface writes a run. */
struct code_writer {
	const char *content_type;
	int64_t idle_ms; /* `idle` is written after this time without a byte; 0 = never */
	const char *idle;
	bool collects; /* only the end is written */
	/* When the sandbox ends, the stream ends in order, with an error that says so. Otherwise it
	 * is cut. */
	bool outlives_sandbox;
	void (*write)(const struct code_outcome *outcome, const struct code_event *event,
	              struct buf *out);
	/* Writes a stored artifact; NULL for surfaces without artifacts. */
	void (*write_artifact)(struct span json, struct buf *out);
	void (*write_end)(const struct code_outcome *outcome, struct buf *out);
};
/* For native surfaces, by enum output_form. OUTPUT_RESULT collects. */
extern const struct code_writer code_writers[];

struct code_run_options {
	const struct code_context *context;
	const char *code;
	const struct json_map *env; /* or NULL */
	int64_t timeout_ms;         /* counts from when the block runs; 0 = none */
	int64_t timeout_max_ms;     /* set by code_run_start, from the sandbox's config */
	int64_t output_limit;       /* bytes of each stream; 0 = the configuration's */
	/* Files changed below this folder are stored as artifacts, and listed before the end; or
	 * NULL. */
	const char *keep_root;
	const struct code_writer *writer;
	bool is_recorded; /* by command_recorder.h */
};
/* The caller has checked code and env (code_source_check). Takes the target's hold. */
MUST_CHECK int code_run_start(struct request *rq, struct api_target *t,
                              const struct code_run_options *options, struct reply *reply,
                              struct error *err);

struct code_socket_request {
	const char *context, *code;
	struct json_map env;
	int64_t timeout_ms; /* 0 = none */
};
struct code_socket {
	const struct code_list *contexts; /* that the request may name; copied */
	const struct code_writer *writer; /* each event is a message */
	int (*read)(struct arena *a, struct span message, struct code_socket_request *ret,
	            struct error *err);
	unsigned timed_out_code; /* close code of a run that exceeded its time */
};
MUST_CHECK int code_run_websocket(struct request *rq, struct api_target *t,
                                  const struct code_socket *socket, struct reply *reply,
                                  struct error *err);
