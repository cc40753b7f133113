/* SPDX-License-Identifier: Apache-2.0 */
/* calls/output.h — the output of a command, as events while it runs or as a result at its end.
 * Pure, no I/O.
 *
 * Events, each one JSON object (an NDJSON line, or the data of a server-sent event):
 *   {"event":"started","process":1,"pid":7,"since":"0.0"}
 *   {"event":"stdout","offset":0,"data":"hello\n","since":"6.0"}      and the same for stderr
 *   {"event":"stdout","offset":6,"data":"/wA=","encoding":"base64","since":"8.0"}
 *   {"event":"exit","process":1,"ok":true,"exit_code":0,"signal":null,"timed_out":false,
 *    "cause":"exit","duration_ms":3,"since":"8.0"}
 *   {"event":"error","error":{"code":"unavailable","message":"…"},"since":"8.0"}
 * The last event is "exit", or "error" if the sandbox ends before the command does. "cause" is
 * agent_process_cause. Offsets count the bytes of their stream from 0. Bytes were lost when an
 * offset is higher than the end of the event before. "since" (the `id:` of a server-sent event) is
 * "STDOUT.STDERR": events up to here have all bytes before these offsets. A client resumes the
 * stream with it, as ?since= or Last-Event-ID.
 *
 * A result has a limited number of bytes of each stream: the first and the last half, and between
 * them a line with the number of bytes that were cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/head_tail.h"

struct decision_refusals;
struct agent_output;
struct agent_process;

enum output_form { OUTPUT_RESULT, OUTPUT_SSE, OUTPUT_NDJSON, OUTPUT_TEXT };
/* Chooses by ?stream= ("result", "sse", "ndjson", "text"; NULL = absent), else by the header
 * Accept, else `fallback`. */
MUST_CHECK int output_form_parse(const char *stream, const char *accept, enum output_form fallback,
                                 enum output_form *ret, struct error *err);
const char *output_content_type(enum output_form form);

/* "12.0" or "12" (stdout alone). */
MUST_CHECK int output_since_parse(struct span text, uint64_t ret[2], struct error *err);

struct output_events {
	enum output_form form;
	uint64_t written[2]; /* next offset of each stream */
	/* The start of a UTF-8 sequence whose rest has not arrived. */
	char partial[2][4];
	size_t partial_size[2];
	const char *recording; /* told by output_events_exit; NULL = none */
};
void output_events_init(struct output_events *e, enum output_form form, const uint64_t since[2]);
void output_events_started(struct output_events *e, struct buf *out, const struct agent_process *p);
void output_events_bytes(struct output_events *e, struct buf *out, const struct agent_output *o);
/* refusals: those of network rules while it ran; or NULL. */
void output_events_exit(struct output_events *e, struct buf *out, const struct agent_process *p,
                        const struct decision_refusals *refusals);
void output_events_error(struct output_events *e, struct buf *out, const struct error *err);
/* {"event":"artifact","artifact":{…}}: an artifact of the command, as JSON. */
void output_events_artifact(struct output_events *e, struct buf *out, struct span json);
/* A comment that keeps the connection alive; nothing for forms without comments. */
void output_events_idle(struct output_events *e, struct buf *out);

struct output_collector {
	size_t limit; /* bytes of each stream */
	struct head_tail streams[2];
};
void output_collector_init(struct output_collector *c, size_t limit);
void output_collector_done(struct output_collector *c);
void output_collector_add(struct output_collector *c, const struct agent_output *o);
/* {ok, runtime, exit_code, …, stdout, stderr, truncated: without the end of the object. */
void output_collector_write(const struct output_collector *c, const struct agent_process *p,
                            const char *runtime, struct buf *out);
