/* SPDX-License-Identifier: Apache-2.0 */
/* trace/trace.h — spans of OpenTelemetry traces, from requests down to the calls that they make.
 *
 * Off until trace_open: then trace_begin is one branch. A request has a span of its own
 * (trace_accept); while a thread works for it, trace_swap makes that span the thread's current
 * one, and trace_begin makes children of the current span. Ended spans wait in a ring of fixed
 * size for the exporter; when the ring is full they are dropped and counted. Ending a span never
 * waits for the exporter. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TRACE_ID_SIZE 16
#define TRACE_SPAN_ID_SIZE 8
#define TRACE_PARENT_SIZE 56 /* "00-32 digits-16 digits-2 digits" and a NUL */
#define TRACE_NAME_SIZE 96
#define TRACE_FAILURE_SIZE 128
#define TRACE_ATTRIBUTES_MAX 8
#define TRACE_TEXTS_SIZE 256 /* of all texts of one span's attributes */

enum trace_layer {
	TRACE_HTTP,
	TRACE_STORE,
	TRACE_BROKER,
	TRACE_PROVIDER,
	TRACE_AGENT,
	TRACE_LAYER_COUNT
};
const char *trace_layer_name(enum trace_layer layer); /* "http", "store", … */

struct trace_span {
	unsigned char trace_id[TRACE_ID_SIZE], id[TRACE_SPAN_ID_SIZE];
	unsigned char parent_id[TRACE_SPAN_ID_SIZE]; /* zeroes: none */
	int64_t begun_ns;                            /* unix */
	const char *operation;                       /* static storage */
	enum trace_layer layer;
	bool is_known;    /* it has ids, which outgoing calls carry */
	bool is_recorded; /* it is sampled: it and its children are exported */
};

/* What an attribute is called has static storage. */
struct trace_attribute {
	const char *key;  /* NULL ends the list */
	const char *text; /* NULL: the number */
	int64_t number;
};

struct trace_options {
	size_t spans_max; /* of the ring */
	double ratio;     /* of the traces that begin here, 0 to 1 */
};
/* Once, before other threads use spans; trace_close after they have ended. */
void trace_open(const struct trace_options *options);
void trace_close(void);
bool trace_is_open(void);

/* Begins the span of a request. `parent` is the request's traceparent header or NULL; a header of
 * another form begins a new trace. The parent's flag decides whether the trace is sampled. */
void trace_accept(struct trace_span *span, const char *parent);
/* Begins a child of the thread's current span; without a sampled one it records nothing. */
void trace_begin(struct trace_span *span, enum trace_layer layer, const char *operation);
/* Makes the span the current one of this thread and returns the one before; either may be NULL.
 * The caller swaps back before the span's memory ends. */
const struct trace_span *trace_swap(const struct trace_span *span);
const struct trace_span *trace_current(void); /* NULL: none */

struct trace_end {
	const char *name;                         /* NULL: "LAYER OPERATION" */
	const struct error *err;                  /* NULL: it succeeded */
	const struct trace_attribute *attributes; /* or NULL */
};
/* Does nothing for a span that is not recorded, and for a second call. */
void trace_end(struct trace_span *span, const struct trace_end *end);

/* "00-…-…-01"; false, and "", when the span has no ids. */
bool trace_format_parent(const struct trace_span *span, char ret[TRACE_PARENT_SIZE]);
/* The same as a line "traceparent: …" of the thread's current span; false without one. */
#define TRACE_LINE_SIZE (TRACE_PARENT_SIZE + 16)
bool trace_format_line(char ret[TRACE_LINE_SIZE]);
/* Reads a traceparent header of the W3C recommendation into ids, parent id and sampling flag.
 * False: it is malformed, and *span is untouched. */
bool trace_parse_parent(const char *text, struct trace_span *span);

/* For the exporter. */
struct trace_record {
	unsigned char trace_id[TRACE_ID_SIZE], id[TRACE_SPAN_ID_SIZE];
	unsigned char parent_id[TRACE_SPAN_ID_SIZE];
	int64_t begun_ns, ended_ns;
	enum trace_layer layer;
	bool has_failed;
	unsigned attribute_count;
	struct trace_attribute attributes[TRACE_ATTRIBUTES_MAX]; /* texts point into `texts` */
	char name[TRACE_NAME_SIZE], failure[TRACE_FAILURE_SIZE], texts[TRACE_TEXTS_SIZE];
};
/* Takes the oldest records, at most `max`; returns their number, 0 when none has come until
 * `deadline` (base/clock.h) or trace_wake was called. */
size_t trace_take(struct trace_record *ret, size_t max, int64_t deadline);
/* Ends the current and every later wait of trace_take. */
void trace_wake(void);

struct trace_counts {
	uint64_t ended, dropped; /* dropped: the ring was full */
	size_t queued;
};
struct trace_counts trace_counts_get(void);
