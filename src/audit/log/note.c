/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "audit/log/parts.h"
#include "base/clock.h"
#include "base/id.h"
#include "json/write.h"

static size_t text_size(const char *text, size_t max)
{
	return text ? strnlen(text, max) : 0;
}

/* A cleaned text is never longer than the given one. */
static const char *put_text(char **at, const char *text, size_t max)
{
	char *begin = *at;
	AUTO(buf_done) struct buf clean = BUF(max + 1);

	audit_clean(&clean, (struct span){text, text_size(text, max)}, max);
	if (clean.size > 0)
		memcpy(begin, clean.data, clean.size);
	begin[clean.size] = '\0';
	*at = begin + clean.size + 1;
	return begin;
}

static void keep_change(struct buf *out, struct span json, const char **ret)
{
	buf_reset(out);
	if (json.size > AUDIT_CHANGE_MAX) {
		json_begin_object(out, NULL);
		json_add_whole(out, "bytes_left_out", (int64_t)json.size);
		json_end_object(out);
	} else {
		audit_clean(out, json, AUDIT_CHANGE_MAX);
	}
	*ret = buf_text(out);
}

/* The texts of a start, and where they go. */
struct note_text {
	const char *text;
	size_t max;
	const char **ret;
};

struct audit_note *note_new(struct audit_log *log, const struct audit_start *start)
{
	struct audit_row row = {.at = clock_unix_ms(), .result = "interrupted"};
	struct id id = id_new();
	const struct note_text texts[] = {
	        {id.text, ID_SIZE, &row.id},
	        {log->node, AUDIT_TEXT_MAX, &row.node},
	        {log->version, AUDIT_TEXT_MAX, &row.version},
	        {start->project_id, AUDIT_TEXT_MAX, &row.project_id},
	        {start->user_id, AUDIT_TEXT_MAX, &row.user_id},
	        {start->key_id, AUDIT_TEXT_MAX, &row.key_id},
	        {start->via, AUDIT_TEXT_MAX, &row.via},
	        {start->address, AUDIT_TEXT_MAX, &row.address},
	        {start->user_agent, AUDIT_TEXT_MAX, &row.user_agent},
	        {start->action, AUDIT_TEXT_MAX, &row.action},
	        {start->method, AUDIT_TEXT_MAX, &row.method},
	        {start->path, AUDIT_PATH_MAX, &row.path},
	        {start->target_kind, AUDIT_TEXT_MAX, &row.target_kind},
	        {start->target_id, AUDIT_TEXT_MAX, &row.target_id},
	        {start->conversation, AUDIT_TEXT_MAX, &row.conversation},
	        {start->request_id, AUDIT_TEXT_MAX, &row.request_id},
	};
	size_t size = COUNT_OF(texts);
	struct audit_note *n;
	char *at;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		size += text_size(texts[i].text, texts[i].max);
	n = memory_new(sizeof(*n) + size);
	at = n->texts;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		*texts[i].ret = put_text(&at, texts[i].text, texts[i].max);
	row.before_json = row.after_json = "";
	list_init(&n->item);
	n->log = log;
	n->row = row;
	n->project = n->user = n->key = n->target_kind = n->target_id = BUF(AUDIT_TEXT_MAX + 1);
	n->before = n->after = BUF(AUDIT_CHANGE_MAX + 1);
	if (start->after_json.size > 0)
		keep_change(&n->after, start->after_json, &n->row.after_json);
	return n;
}

void note_free(struct audit_note *n)
{
	buf_done(&n->project);
	buf_done(&n->user);
	buf_done(&n->key);
	buf_done(&n->target_kind);
	buf_done(&n->target_id);
	buf_done(&n->before);
	buf_done(&n->after);
	free(n);
}

static void keep_text(struct buf *out, const char *text, const char **ret)
{
	buf_reset(out);
	audit_clean(out, span_of(text), AUDIT_TEXT_MAX);
	*ret = buf_text(out);
}

void audit_set_project(struct audit_note *n, const char *project_id)
{
	if (n)
		keep_text(&n->project, project_id, &n->row.project_id);
}

void audit_set_who(struct audit_note *n, const char *user_id, const char *key_id)
{
	if (!n)
		return;
	keep_text(&n->user, user_id, &n->row.user_id);
	keep_text(&n->key, key_id, &n->row.key_id);
}

void audit_set_target(struct audit_note *n, const char *kind, const char *id)
{
	if (!n)
		return;
	if (kind)
		keep_text(&n->target_kind, kind, &n->row.target_kind);
	keep_text(&n->target_id, id, &n->row.target_id);
}

void audit_set_made(struct audit_note *n, const char *id)
{
	if (n && id[0] && !n->row.target_id[0])
		keep_text(&n->target_id, id, &n->row.target_id);
}

void audit_set_change(struct audit_note *n, struct span before_json, struct span after_json)
{
	if (!n)
		return;
	keep_change(&n->before, before_json, &n->row.before_json);
	keep_change(&n->after, after_json, &n->row.after_json);
}
