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
	const char *coding = head_find(h, "content-encoding");

	return coding && strcasecmp(coding, "identity") != 0 && x->is_masked && x->rule &&
	       x->rule->action == CREDENTIAL_INJECT;
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

bool passage_add_answer(struct passage *x, struct span piece)
{
	const struct mask *mask = x->connection->guard->mask;
	size_t reach = x->is_masked ? mask_reach(mask) : 0, from;
	struct passage_queue *q = &x->answer;

	x->connection->progress += piece.size;
	if (!count_bytes_in(x, piece.size))
		return false;
	buf_add_span(&q->bytes, piece);
	x->answered_ms = x->connection->now_ms;
	x->is_held = reach > 0;
	if (reach == 0) {
		q->ready = q->bytes.size;
		return !q->bytes.overflowed;
	}
	/* A flush may have let the first bytes of a value go. */
	from = q->ready < MASK_BEGUN_MIN - 1 ? 0 : q->ready - (MASK_BEGUN_MIN - 1);
	mask_bytes(mask, q->bytes.data + from, q->bytes.size - from);
	if (q->bytes.size > reach && q->bytes.size - reach > q->ready)
		q->ready = q->bytes.size - reach;
	return !q->bytes.overflowed;
}

void passage_end_answer(struct passage *x)
{
	x->answer.ready = x->answer.bytes.size;
	x->answer.has_ended = true;
	x->is_held = false;
}

bool passage_flush(struct passage *x, int64_t silent_ms)
{
	struct passage_queue *q = &x->answer;
	size_t from, kept;

	if (!x->is_held)
		return false;
	if (x->connection->now_ms - x->answered_ms < silent_ms)
		return true;
	x->is_held = false;
	/* Also bytes that an earlier flush let go may begin the value. */
	from = q->ready < MASK_BEGUN_MIN - 1 ? 0 : q->ready - (MASK_BEGUN_MIN - 1);
	kept = mask_begun(x->connection->guard->mask,
	                  (struct span){q->bytes.data + from, q->bytes.size - from});
	if (q->bytes.size - kept > q->ready)
		q->ready = q->bytes.size - kept;
	return false;
}
