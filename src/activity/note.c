/* SPDX-License-Identifier: Apache-2.0 */
#include "activity/note.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "json/base64.h"
#include "json/write.h"

#define REASON_MAX 512
#define ID_TEXT_MAX 128 /* bytes kept of an id that a client chose */
/* Base64 of both parts. */
#define PART_MAX ((size_t)2 * ACTIVITY_OUTPUT_MAX)

static size_t id_size(const char *text)
{
	return text ? strnlen(text, ID_TEXT_MAX) : 0;
}

static const char *put_id(char **at, const char *text)
{
	char *begin = *at;
	size_t size = id_size(text);

	/* A client chose some of them: databases take printable ASCII. */
	for (size_t i = 0; i < size; i++)
		begin[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	begin[size] = '\0';
	*at = begin + size + 1;
	return begin;
}

struct activity_note *activity_begin(struct activity_log *log, const struct activity_start *start)
{
	const char *const ids[] = {start->project_id, start->sandbox_id, start->key_id,
	                           start->user_id, start->conversation};
	size_t size = COUNT_OF(ids);
	struct activity_note *n;
	char *at;

	if (!log)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(ids); i++)
		size += id_size(ids[i]);
	n = memory_new(sizeof(*n) + size);
	at = n->ids;
	list_init(&n->item);
	n->log = log;
	n->begun_ms = clock_monotonic_ms();
	n->record = (struct activity_record){
	        .at = start->at ? start->at : clock_unix_ms(),
	        .kind = start->kind,
	        .operation = start->operation,
	        .project_id = put_id(&at, start->project_id),
	        .sandbox_id = put_id(&at, start->sandbox_id),
	        .key_id = put_id(&at, start->key_id),
	        .user_id = put_id(&at, start->user_id),
	        .conversation = put_id(&at, start->conversation),
	        .exit_code = -1,
	        .duration_ms = -1,
	};
	n->arguments = BUF(ACTIVITY_ARGUMENTS_MAX);
	n->error = BUF(REASON_MAX);
	n->artifacts = BUF(ACTIVITY_ARTIFACTS_MAX);
	head_tail_init(&n->output, (size_t)2 * ACTIVITY_OUTPUT_MAX);
	return n;
}

void activity_set_operation(struct activity_note *n, const char *operation)
{
	if (n)
		n->record.operation = operation;
}

/* Adds what fits, up to the end of a character. */
static void add_cut(struct buf *out, struct span text)
{
	size_t room = out->size_max - out->size;

	if (text.size > room) {
		text.size = room;
		text.size -= span_begun(text);
	}
	buf_add_span(out, text);
}

void activity_add_text(struct activity_note *n, struct span text)
{
	if (!n || n->is_cut)
		return;
	n->is_cut = text.size > n->arguments.size_max - n->arguments.size;
	add_cut(&n->arguments, text);
}

static bool is_plain_word(const char *word)
{
	return word[0] && !strpbrk(word, " \t\r\n'\"\\$`&|;<>()*?[]#~!{}");
}

void activity_add_word(struct activity_note *n, const char *word)
{
	struct span rest = span_of(word), piece;

	if (!n)
		return;
	if (n->arguments.size > 0)
		activity_add_text(n, SPAN(" "));
	if (is_plain_word(word)) {
		activity_add_text(n, rest);
		return;
	}
	activity_add_text(n, SPAN("'"));
	while (!n->is_cut && span_split(&rest, '\'', &piece)) {
		activity_add_text(n, piece);
		activity_add_text(n, SPAN("'\\''"));
	}
	activity_add_text(n, piece);
	activity_add_text(n, SPAN("'"));
}

void activity_add_output(struct activity_note *n, struct span bytes)
{
	if (n)
		head_tail_add(&n->output, n->output.total, bytes);
}

void activity_add_bytes(struct activity_note *n, uint64_t count)
{
	if (n)
		n->record.output_bytes += (int64_t)count;
}

void activity_set_tail(struct activity_note *n, struct span tail, uint64_t total)
{
	if (!n)
		return;
	if (tail.size >= total) {
		head_tail_add(&n->output, n->output.total, tail);
		return;
	}
	/* The first bytes are gone: the row has a tail only. */
	if (tail.size > ACTIVITY_OUTPUT_MAX) {
		tail.data += tail.size - ACTIVITY_OUTPUT_MAX;
		tail.size = ACTIVITY_OUTPUT_MAX;
	}
	buf_add_span(&n->output.tail, tail);
	n->output.total += total;
}

void activity_add_artifact(struct activity_note *n, const char *id, const char *path)
{
	size_t size;

	if (!n)
		return;
	if (n->artifacts.size == 0)
		json_begin_list(&n->artifacts, NULL);
	size = n->artifacts.size;
	json_begin_object(&n->artifacts, NULL);
	json_add_text(&n->artifacts, "id", id);
	json_add_text(&n->artifacts, "path", path);
	json_end_object(&n->artifacts);
	/* An entry that does not fit is left out whole. The list's end needs room, too. */
	if (!n->artifacts.overflowed && n->artifacts.size < n->artifacts.size_max)
		return;
	n->artifacts.size = size;
	n->artifacts.data[size] = '\0';
	n->artifacts.overflowed = false;
}

void activity_report(struct activity_note *n, const struct activity_result *result)
{
	if (!n)
		return;
	n->is_reported = true;
	n->record.outcome = result->outcome;
	n->record.exit_code = result->exit_code;
	if (result->duration_ms >= 0)
		n->record.duration_ms = result->duration_ms;
	buf_reset(&n->error);
	if (result->reason)
		add_cut(&n->error, span_of(result->reason));
}

void activity_succeed(struct activity_note *n)
{
	activity_report(n, &(struct activity_result){ACTIVITY_OK, -1, -1, NULL});
}

void activity_fail(struct activity_note *n, const char *reason)
{
	activity_report(n, &(struct activity_result){ACTIVITY_FAILED, -1, -1, reason});
}

bool activity_is_reported(const struct activity_note *n)
{
	return n && n->is_reported;
}

bool activity_is(const struct activity_note *n, enum activity_kind kind)
{
	return n && n->record.kind == kind;
}

void activity_end(struct activity_note *n)
{
	if (!n)
		return;
	if (n->record.duration_ms < 0)
		n->record.duration_ms = clock_monotonic_ms() - n->begun_ms;
	log_add(n->log, n);
}

void activity_forget(struct activity_note *n)
{
	if (!n)
		return;
	list_remove(&n->item);
	buf_done(&n->arguments);
	buf_done(&n->error);
	buf_done(&n->artifacts);
	buf_done(&n->head);
	buf_done(&n->tail);
	head_tail_done(&n->output);
	free(n);
}

static bool is_text(struct span bytes)
{
	return bytes.size == 0 || (span_is_utf8(bytes) && !memchr(bytes.data, '\0', bytes.size));
}

/* Bytes of the character that `text` begins with; 0: it is none that a database takes. */
static size_t character_size(struct span text)
{
	if (text.data[0] == '\0')
		return 0;
	for (size_t size = 1; size <= 4 && size <= text.size; size++)
		if (span_is_utf8((struct span){text.data, size}))
			return size;
	return 0;
}

/* Replaces what is no text by question marks. */
static void make_text(struct buf *text)
{
	struct span rest = buf_span(text);

	if (is_text(rest))
		return;
	while (rest.size > 0) {
		size_t size = character_size(rest);

		if (size == 0)
			text->data[rest.data - text->data] = '?';
		(void)span_take(&rest, size ? size : 1);
	}
}

/* The bytes of the ring in their order. */
static void copy_tail(const struct head_tail *output, struct buf *out)
{
	buf_add(out, output->tail.data + output->tail_at, output->tail.size - output->tail_at);
	buf_add(out, output->tail.data, output->tail_at);
}

/* A character at the border of two parts belongs to the second one; a part that follows a gap
 * begins with a whole character. */
static void split_output(struct activity_note *n, struct buf *head, struct buf *tail)
{
	const struct head_tail *output = &n->output;
	bool has_gap = head_tail_cut_count(output) > 0;
	struct span first = buf_span(&output->head), rest;
	size_t begun = output->tail.size > 0 && first.size > 0 ? span_begun(first) : 0;

	buf_add(head, first.data, first.size - begun);
	if (output->tail.size == 0)
		return;
	if (!has_gap && begun > 0)
		buf_add(tail, first.data + first.size - begun, begun);
	copy_tail(output, tail);
	rest = buf_span(tail);
	if (has_gap)
		buf_consume(tail, span_continued(rest));
}

static void settle_output(struct activity_note *n)
{
	AUTO(buf_done) struct buf head = BUF(PART_MAX);
	AUTO(buf_done) struct buf tail = BUF(PART_MAX);
	bool both;

	split_output(n, &head, &tail);
	both = is_text(buf_span(&head)) && is_text(buf_span(&tail));
	n->head = BUF(2 * PART_MAX);
	n->tail = BUF(2 * PART_MAX);
	if (both) {
		buf_add_span(&n->head, buf_span(&head));
		buf_add_span(&n->tail, buf_span(&tail));
	} else {
		base64_encode(&n->head, buf_span(&head));
		base64_encode(&n->tail, buf_span(&tail));
	}
	n->record.encoding = both ? "" : "base64";
	n->record.output_bytes += (int64_t)n->output.total;
}

void note_settle(struct activity_note *n)
{
	if (n->record.encoding)
		return;
	make_text(&n->arguments);
	make_text(&n->error);
	settle_output(n);
	if (n->artifacts.size > 0)
		json_end_list(&n->artifacts);
	n->record.arguments = buf_text(&n->arguments);
	n->record.error = buf_text(&n->error);
	n->record.head = buf_text(&n->head);
	n->record.tail = buf_text(&n->tail);
	n->record.artifacts_json = buf_text(&n->artifacts);
	head_tail_done(&n->output);
}
