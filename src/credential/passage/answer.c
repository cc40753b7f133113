/* SPDX-License-Identifier: Apache-2.0 */
/* What rules do to an answer. */
#include <string.h>
#include <strings.h>

#include "credential/passage/passage.h"
#include "credential/passage/guard.h"
#include "credential/passage/mask.h"
#include "credential/passage/parts.h"
#include "credential/passage/wire.h"

/* About the connection or the framing, which the proxy says itself; and what would lead the client
 * past the proxy. */
static const char *const dropped[] = {"connection",        "keep-alive",     "proxy-connection",
                                      "transfer-encoding", "content-length", "upgrade",
                                      "alt-svc",           "trailer",        NULL};
/* Beside these, what a client reads in a head alone. */
static const char *const dropped_trailers[] = {
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length",
        "upgrade",    "alt-svc",    "trailer",          "content-encoding",  "content-type",
        "host",       "set-cookie", "authorization",    "content-range",     NULL};

static bool answer_has_no_body(const struct passage *x, int status)
{
	return status / 100 == 1 || status == 204 || status == 304 ||
	       strcmp(x->head.method, "HEAD") == 0;
}

/* A cookie that the proxy puts in belongs to it. */
static bool is_own_cookie(const struct passage *x, const struct head_field *f)
{
	const struct credential_inject *items = x->rule ? x->rule->inject.items : NULL;
	struct span rest = span_of(f->value), name;

	if (!items || strcasecmp(f->name, "set-cookie") != 0)
		return false;
	(void)span_split(&rest, '=', &name);
	for (size_t i = 0; i < x->rule->inject.count; i++)
		if (items[i].kind == INJECT_COOKIE &&
		    span_equals_text(span_trim(name), items[i].name))
			return true;
	return false;
}

/* An encoding that the client was not let to ask for could hide a value. */
static bool is_hidden(const struct passage *x, const struct http_head *h)
{
	if (!x->is_masked || !x->rule || x->rule->action != CREDENTIAL_INJECT)
		return false;
	for (unsigned i = 0; i < h->field_count; i++)
		if (strcasecmp(h->fields[i].name, "content-encoding") == 0 &&
		    strcasecmp(h->fields[i].value, "identity") != 0)
			return true;
	return false;
}

/* Fields that the client may see, masked as one text: a value could reach over a colon. The texts
 * are the arena's. */
struct edited_fields {
	const char *reason;
	struct head_field *fields;
	size_t count;
};

static struct edited_fields edit_fields(struct passage *x, const struct http_head *h,
                                        const char *reason, const char *const *left_out)
{
	AUTO(buf_done) struct buf text = BUF(PASSAGE_HEAD_MAX * 2);
	size_t begins[HEAD_FIELDS_MAX][2];
	struct edited_fields e = {
	        .fields = ARENA_ARRAY(&x->arena, struct head_field, (size_t)h->field_count + 1)};
	char *copy;

	buf_addf(&text, "%s\r\n", reason);
	for (unsigned i = 0; i < h->field_count; i++) {
		const struct head_field *f = &h->fields[i];

		if (head_name_is_of(f->name, left_out) || is_own_cookie(x, f))
			continue;
		begins[e.count][0] = text.size;
		begins[e.count++][1] = text.size + strlen(f->name) + 2;
		buf_addf(&text, "%s: %s\r\n", f->name, f->value);
	}
	if (!x->rule || x->rule->mask != MASK_OFF)
		mask_bytes(x->connection->guard->mask, text.data, text.size);
	copy = arena_copy(&x->arena, buf_span(&text));
	copy[strlen(reason)] = '\0';
	e.reason = copy;
	for (size_t i = 0; i < e.count; i++) {
		size_t end = i + 1 < e.count ? begins[i + 1][0] : text.size;

		copy[begins[i][1] - 2] = '\0';
		copy[end - 2] = '\0';
		e.fields[i] = (struct head_field){copy + begins[i][0], copy + begins[i][1]};
	}
	return e;
}

static bool upgrade_is_right(const struct passage *x, const struct http_head *h)
{
	const char *accept = head_find(h, "sec-websocket-accept");

	return x->websocket_accept[0] && accept && strcmp(accept, x->websocket_accept) == 0;
}

bool passage_take_answer(struct passage *x, const struct http_head *h, const char *reason)
{
	struct wire *client = x->connection->client;
	bool has_body = !answer_has_no_body(x, h->status);
	bool is_upgrade = h->status == 101;
	struct edited_fields edited;

	x->connection->progress++;
	if (x->answer_state != ANSWER_NONE || (is_upgrade && !upgrade_is_right(x, h)) ||
	    (is_hidden(x, h) && has_body))
		return false;
	edited = edit_fields(x, h, reason, dropped);
	const struct passage_head head = {.status = h->status,
	                                  .reason = edited.reason,
	                                  .fields = edited.fields,
	                                  .count = edited.count,
	                                  .content_length = h->content_length,
	                                  .has_body = has_body,
	                                  .is_whole = x->answer_is_whole,
	                                  .is_upgrade = is_upgrade};

	if (is_upgrade)
		x->answer_state = ANSWER_TUNNEL;
	else if (h->status / 100 != 1)
		x->answer_state = ANSWER_BODY;
	client->calls->on_head(client, x, &head);
	return true;
}

void passage_take_trailers(struct passage *x, const struct http_head *h)
{
	struct edited_fields edited = edit_fields(x, h, "", dropped_trailers);

	x->trailers = edited.fields;
	x->trailer_count = edited.count;
}

static bool count_bytes_in(struct passage *x, size_t size)
{
	struct rule_use *use;

	if (!x->rule)
		return true;
	use = guard_use(x->connection->guard, x->rule);
	use->bytes_in += (int64_t)size;
	return x->rule->limits.bytes_in == 0 || use->bytes_in <= x->rule->limits.bytes_in;
}

/* A WebSocket that the rule gave a credential for has no extension, so that its frames can be
 * read. */
static bool has_frames(const struct passage *x)
{
	return x->answer_state == ANSWER_TUNNEL && x->rule && x->rule->action == CREDENTIAL_INJECT;
}

/* Masks what came after the first `known` bytes. A control frame may lie within a message. */
static bool mask_answer(struct passage *x, size_t known)
{
	const struct mask *mask = x->connection->guard->mask;
	struct passage_queue *q = &x->answer;
	struct mask_piece piece = {.data = q->bytes.data, .known = known, .size = q->bytes.size};
	bool is_found;

	if (!has_frames(x))
		return mask_next(mask, &x->masked, &piece);
	piece.kinds = q->kinds.data;
	piece.kind = FRAME_MESSAGE;
	is_found = mask_next(mask, &x->masked, &piece);
	piece.kind = FRAME_CONTROL;
	return mask_next(mask, &x->masked_control, &piece) || is_found;
}

/* How many bytes at the end have so many of a message. */
static size_t find_tail(const struct passage *x, enum frame_byte kind, size_t count)
{
	if (!has_frames(x))
		return kind == FRAME_MESSAGE ? count : 0;
	return frame_tail(&x->answer.kinds, kind, count);
}

static void make_ready(struct passage_queue *q, size_t kept)
{
	if (q->bytes.size > kept && q->bytes.size - kept > q->ready)
		q->ready = q->bytes.size - kept;
}

bool passage_add_answer(struct passage *x, struct span piece)
{
	size_t reach = x->is_masked ? mask_reach(x->connection->guard->mask) : 0;
	struct passage_queue *q = &x->answer;
	size_t known = q->bytes.size;

	x->connection->progress += piece.size;
	if (!count_bytes_in(x, piece.size))
		return false;
	buf_add_span(&q->bytes, piece);
	x->answered_ms = x->connection->now_ms;
	x->is_held = reach > 0;
	if (q->bytes.overflowed)
		return false;
	if (reach == 0) {
		q->ready = q->bytes.size;
		return true;
	}
	if (has_frames(x) && !frame_read(&x->frames, piece, &q->kinds))
		return false;
	if (mask_answer(x, known) && x->was_begun) {
		guard_end_hold(x->connection->guard);
		x->was_begun = false;
	}
	make_ready(q, find_tail(x, FRAME_MESSAGE, reach));
	return true;
}

void passage_end_answer(struct passage *x)
{
	x->answer.ready = x->answer.bytes.size;
	x->answer.has_ended = true;
	x->is_held = false;
}

/* How many bytes at the end begin a value. */
static size_t find_begun(const struct passage *x)
{
	const struct mask *mask = x->connection->guard->mask;
	size_t of_message = find_tail(x, FRAME_MESSAGE, mask_begun(mask, &x->masked));
	size_t of_control = find_tail(x, FRAME_CONTROL, mask_begun(mask, &x->masked_control));

	return of_message > of_control ? of_message : of_control;
}

bool passage_flush(struct passage *x, int64_t silent_ms)
{
	size_t kept;

	if (!x->is_held)
		return false;
	if (x->connection->now_ms - x->answered_ms < silent_ms)
		return true;
	x->is_held = false;
	kept = find_begun(x);
	x->was_begun = kept > 0 && guard_take_hold(x->connection->guard);
	make_ready(&x->answer, x->was_begun ? kept : 0);
	return false;
}
