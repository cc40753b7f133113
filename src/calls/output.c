/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/output.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decision/watch.h"
#include "edge/text.h"
#include "http/message/fault.h"
#include "json/write.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"

static const struct {
	const char *name, *content_type;
} forms[] = {
        [OUTPUT_RESULT] = {"result", "application/json"},
        [OUTPUT_SSE] = {"sse", "text/event-stream"},
        [OUTPUT_NDJSON] = {"ndjson", "application/x-ndjson"},
        [OUTPUT_TEXT] = {"text", "text/plain"},
};

const char *output_content_type(enum output_form form)
{
	return forms[form].content_type;
}

int output_form_parse(const char *stream, const char *accept, enum output_form fallback,
                      enum output_form *ret, struct error *err)
{
	for (unsigned i = 0; stream && i < COUNT_OF(forms); i++) {
		if (strcmp(stream, forms[i].name) == 0) {
			*ret = (enum output_form)i;
			return 0;
		}
	}
	if (stream) {
		(void)FAIL(err, ERROR_INVALID, "unknown stream '%s'", stream);
		error_hint(err, "known streams: result, sse, ndjson, text");
		return -1;
	}
	*ret = fallback;
	for (unsigned i = 0; accept && i < COUNT_OF(forms); i++) {
		if (strcasestr(accept, forms[i].content_type)) {
			*ret = (enum output_form)i;
			break;
		}
	}
	return 0;
}

int output_since_parse(struct span text, uint64_t ret[2], struct error *err)
{
	struct span first;
	int64_t offsets[2] = {0, 0};
	bool both = span_split(&text, '.', &first);

	if (span_parse_whole(first, 0, INT64_MAX, &offsets[0], err) < 0 ||
	    (both && span_parse_whole(text, 0, INT64_MAX, &offsets[1], err) < 0)) {
		(void)FAIL_CONTEXT(err, "since");
		error_hint(err, "use STDOUT.STDERR of an event, such as \"12.0\"");
		return -1;
	}
	ret[0] = (uint64_t)offsets[0];
	ret[1] = (uint64_t)offsets[1];
	return 0;
}

void output_events_init(struct output_events *e, enum output_form form, const uint64_t since[2])
{
	*e = (struct output_events){.form = form, .written = {since[0], since[1]}};
}

static void event_begin(struct output_events *e, struct buf *out, const char *name)
{
	if (e->form == OUTPUT_SSE)
		buf_addf(out, "id: %" PRIu64 ".%" PRIu64 "\nevent: %s\ndata: ", e->written[0],
		         e->written[1], name);
	json_begin_object(out, NULL);
	json_add_text(out, "event", name);
}

static void event_end(struct output_events *e, struct buf *out)
{
	char since[48];

	(void)snprintf(since, sizeof(since), "%" PRIu64 ".%" PRIu64, e->written[0], e->written[1]);
	json_add_text(out, "since", since);
	json_end_object(out);
	buf_add_text(out, e->form == OUTPUT_SSE ? "\n\n" : "\n");
}

static void write_bytes(struct output_events *e, struct buf *out, unsigned stream,
                        struct span bytes)
{
	uint64_t offset = e->written[stream];

	if (bytes.size == 0)
		return;
	e->written[stream] += bytes.size;
	if (e->form == OUTPUT_TEXT) {
		buf_add_span(out, bytes);
		return;
	}
	event_begin(e, out, stream == 0 ? "stdout" : "stderr");
	json_add_whole(out, "offset", (int64_t)offset);
	text_write(out, "data", "encoding", bytes);
	event_end(e, out);
}

static void write_partial(struct output_events *e, struct buf *out, unsigned stream)
{
	struct span partial = {e->partial[stream], e->partial_size[stream]};

	e->partial_size[stream] = 0;
	write_bytes(e, out, stream, partial);
}

void output_events_started(struct output_events *e, struct buf *out, const struct agent_process *p)
{
	if (e->form == OUTPUT_TEXT)
		return;
	event_begin(e, out, "started");
	json_add_whole(out, "process", (int64_t)p->process);
	json_add_whole(out, "pid", p->pid);
	event_end(e, out);
}

/* Moves bytes to the partial sequence until it is complete, and writes it. False when it still
 * lacks bytes. */
static bool complete_partial(struct output_events *e, struct buf *out, unsigned stream,
                             struct span *bytes)
{
	size_t *size = &e->partial_size[stream];

	while (*size > 0 && bytes->size > 0 &&
	       span_begun((struct span){e->partial[stream], *size})) {
		if (span_continued((struct span){bytes->data, 1}) == 0)
			break;
		e->partial[stream][(*size)++] = *bytes->data;
		bytes->data++;
		bytes->size--;
	}
	if (*size > 0 && bytes->size == 0 && span_begun((struct span){e->partial[stream], *size}))
		return false;
	write_partial(e, out, stream);
	return true;
}

void output_events_bytes(struct output_events *e, struct buf *out, const struct agent_output *o)
{
	unsigned stream = o->stream == AGENT_STDERR;
	struct span bytes = o->bytes;
	size_t begun;

	if (o->offset != e->written[stream] + e->partial_size[stream]) {
		write_partial(e, out, stream);
		e->written[stream] = o->offset;
	}
	if (e->form == OUTPUT_TEXT) {
		write_bytes(e, out, stream, bytes);
		return;
	}
	if (e->partial_size[stream] > 0 && !complete_partial(e, out, stream, &bytes))
		return;
	begun = span_begun(bytes);
	assert(begun < sizeof(e->partial[0]));
	bytes.size -= begun;
	write_bytes(e, out, stream, bytes);
	if (begun > 0)
		memcpy(e->partial[stream], bytes.data + bytes.size, begun);
	e->partial_size[stream] = begun;
}

static void write_outcome(struct buf *out, const struct agent_process *p)
{
	char signal[16];

	agent_signal_name(p->signal, signal);
	json_add_whole(out, "exit_code", p->exit_code);
	json_add_text(out, "signal", signal[0] ? signal : NULL);
	json_add_bool(out, "timed_out", p->timed_out);
	json_add_text(out, "cause", agent_process_cause(p));
	json_add_whole(out, "duration_ms", (int64_t)p->duration_ms);
	/* Most commands are not run by a waiting interpreter: the member is absent then. */
	if (p->flags & AGENT_EXEC_WARM)
		json_add_bool(out, "warm", true);
}

static bool is_ok(const struct agent_process *p)
{
	return p->exit_code == 0 && !p->timed_out;
}

void output_events_exit(struct output_events *e, struct buf *out, const struct agent_process *p,
                        const struct decision_refusals *refusals)
{
	write_partial(e, out, 0);
	write_partial(e, out, 1);
	if (e->form == OUTPUT_TEXT)
		return;
	event_begin(e, out, "exit");
	json_add_whole(out, "process", (int64_t)p->process);
	json_add_bool(out, "ok", is_ok(p));
	write_outcome(out, p);
	if (refusals)
		decision_refusals_write(out, refusals);
	if (e->recording)
		json_add_text(out, "recording", e->recording);
	event_end(e, out);
}

void output_events_error(struct output_events *e, struct buf *out, const struct error *err)
{
	write_partial(e, out, 0);
	write_partial(e, out, 1);
	event_begin(e, out, "error");
	http_add_error(out, err);
	event_end(e, out);
}

void output_events_artifact(struct output_events *e, struct buf *out, struct span json)
{
	if (e->form == OUTPUT_TEXT)
		return;
	event_begin(e, out, "artifact");
	json_add_raw(out, "artifact", json);
	event_end(e, out);
}

void output_events_idle(struct output_events *e, struct buf *out)
{
	if (e->form == OUTPUT_SSE)
		buf_add_text(out, ": still here\n\n");
}

void output_collector_init(struct output_collector *c, size_t limit)
{
	c->limit = limit;
	for (unsigned i = 0; i < 2; i++)
		head_tail_init(&c->streams[i], limit);
}

void output_collector_done(struct output_collector *c)
{
	for (unsigned i = 0; i < 2; i++)
		head_tail_done(&c->streams[i]);
}

void output_collector_add(struct output_collector *c, const struct agent_output *o)
{
	head_tail_add(&c->streams[o->stream == AGENT_STDERR], o->offset, o->bytes);
}

/* Here, or by a provider that keeps only the first bytes. */
static bool is_truncated(const struct output_collector *c, const struct agent_process *p)
{
	for (size_t i = 0; i < 2; i++)
		if (head_tail_cut_count(&c->streams[i]) > 0 ||
		    p->output_end[i] > c->streams[i].total)
			return true;
	return false;
}

void output_collector_write(const struct output_collector *c, const struct agent_process *p,
                            const char *runtime, struct buf *out)
{
	static const char *const names[2][2] = {{"stdout", "stdout_encoding"},
	                                        {"stderr", "stderr_encoding"}};

	json_begin_object(out, NULL);
	json_add_bool(out, "ok", is_ok(p));
	json_add_text(out, "runtime", runtime);
	json_add_whole(out, "process", (int64_t)p->process);
	write_outcome(out, p);
	for (unsigned i = 0; i < 2; i++) {
		AUTO(buf_done) struct buf joined = BUF(c->limit + 256);

		head_tail_join(&c->streams[i], &joined);
		text_write(out, names[i][0], names[i][1], buf_span(&joined));
	}
	json_add_bool(out, "truncated", is_truncated(c, p));
}
