/* SPDX-License-Identifier: Apache-2.0 */
/* calls/code_run.h — a block of code in a context, answered while it runs or at its end. Private to
 * this folder; shared by every surface that runs code in contexts.
 *
 * The run attaches to the kernel, waits for its turn, and sends the block. When the client goes,
 * the block is interrupted, and only then it is the next one's turn. Past its time the block is
 * interrupted, and the kernel is ended when that does not help. All of it is on the loop's thread,
 * but for the interrupt of one whose client has gone. */
#pragma once

#include "base/head_tail.h"
#include "code/reader.h"
#include "edge/caller.h"

/* What a run has come to; what is collected only for writers that ask for it. */
struct code_outcome {
	char context[CODE_ID_MAX + 1];
	enum code_language language;
	uint64_t process;
	int64_t count; /* which block of the kernel it was; 0 = it has not begun */
	int64_t exit_code, duration_ms;
	bool has_failed, timed_out;
	const char *cause;    /* of the kernel's end, agent_process_cause; NULL = it goes on */
	bool has_lost_kernel; /* it ended with the block, or before */
	struct head_tail streams[2];
	uint64_t sizes[2];
	struct buf results, error; /* JSON objects with commas between, a JSON object */
	struct buf artifacts;      /* as results; of a run that keeps them */
	bool is_cut;               /* a result did not fit */
};

/* How a surface tells of it. */
struct code_writer {
	const char *content_type;
	int64_t idle_ms; /* after so long without a byte `idle` is written; 0 = never */
	const char *idle;
	bool collects; /* nothing is written but the end */
	void (*write)(const struct code_outcome *outcome, const struct code_event *event,
	              struct buf *out);
	/* A file that was kept; NULL for surfaces without. */
	void (*write_artifact)(struct span json, struct buf *out);
	void (*write_end)(const struct code_outcome *outcome, struct buf *out);
};
/* By enum output_form, for native surfaces; `result` collects. */
extern const struct code_writer code_writers[];

struct code_run_options {
	const struct code_context *context;
	const char *code;
	const struct json_map *env; /* or NULL */
	int64_t timeout_ms;         /* from its turn on; 0 = none */
	int64_t timeout_max_ms;     /* filled in: of the sandbox's config */
	int64_t output_limit;       /* of each stream; 0 = the configuration's */
	const char
	        *keep_root; /* what changed below it is kept, and outcome before the end; or NULL */
	const struct code_writer *writer;
};
/* The code and env are checked (code_source_check). Takes the target's hold. */
MUST_CHECK int code_run_start(struct request *rq, struct api_target *t,
                              const struct code_run_options *options, struct reply *reply,
                              struct error *err);

/* ---- the same over a WebSocket, whose first message says what to run ---- */

struct code_socket_request {
	const char *context, *code;
	struct json_map env;
	int64_t timeout_ms; /* 0 = none */
};
struct code_socket {
	const struct code_list *contexts; /* that may be named; copied */
	const struct code_writer *writer; /* each event is a message */
	int (*read)(struct arena *a, struct span message, struct code_socket_request *ret,
	            struct error *err);
	unsigned timed_out_code; /* of the close frame */
};
MUST_CHECK int code_run_websocket(struct request *rq, struct api_target *t,
                                  const struct code_socket *socket, struct reply *reply,
                                  struct error *err);
