/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls that need approval. */
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/id.h"
#include "job/job.h"
#include "json/json.h"
#include "store/approvals.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "store/sandbox_record.h"

#define LIFE_MS (3600 * INT64_C(1000)) /* time to decide */
#define GRACE_MS (900 * INT64_C(1000)) /* time to use an approval */
#define PENDING_MAX 200                /* of a project */
#define SHOWN_MAX ((size_t)64 * 1024)  /* bytes of the input in the approval */
#define LOOK_MS 200
#define PRINTED_MAX 6 /* bytes of normal form for a byte of input: "\x7f" is "\u007f" */

static void hash_text(crypto_hash_sha256_state *state, const char *text)
{
	(void)crypto_hash_sha256_update(state, (const unsigned char *)text, strlen(text) + 1);
}

/* Shown to the approver. Not part of the hash: the call may be repeated from another
 * message. */
static const char *origin_json(const struct tool_call *call)
{
	AUTO(buf_done) struct buf text = BUF(16 * 1024);

	if (!call->origin || call->origin->type == 0)
		return "";
	json_write(&text, &job_origin_shape, call->origin);
	return arena_text(call->arena, buf_text(&text));
}

/* Fills an approval for the call. Equal calls get an equal hash, whatever their white space. */
static int describe_call(const struct tool *tool, const struct tool_call *call, struct span input,
                         struct approval_record *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(PRINTED_MAX * input.size + 16);
	crypto_hash_sha256_state state;
	const struct json_value *value;
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	const char *subject = call->ephemeral ? call->ephemeral
	                      : call->sandbox ? call->sandbox->id
	                                      : "";

	if (json_load(call->arena, input.size > 0 ? input : SPAN("{}"), &value, err) < 0)
		return -1;
	json_print(&text, value, 0);
	/* The hash is of the whole input, so that an approval is for no other call. */
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the input is too long for an approval");
	(void)crypto_hash_sha256_init(&state);
	hash_text(&state, tool->name);
	hash_text(&state, subject);
	hash_text(&state, buf_text(&text));
	*ret = (struct approval_record){
	        .id = arena_text(call->arena, id.text),
	        .project_id = call->project_id,
	        .key_id = call->key_id,
	        .conversation_id = call->conversation_id ? call->conversation_id : "",
	        .origin_json = origin_json(call),
	        .sandbox_id = call->sandbox && !call->ephemeral ? call->sandbox->id : "",
	        .tool = tool->name,
	        .note = "",
	        .decided_by = "",
	        .created_at = now,
	        .expires_at = now + LIFE_MS,
	};
	(void)crypto_hash_sha256_final(&state, ret->hash);
	if (text.size > SHOWN_MAX)
		text.size = SHOWN_MAX - span_begun((struct span){text.data, SHOWN_MAX});
	ret->input = arena_copy(call->arena, buf_span(&text));
	return 0;
}

/* Finds the approval that an earlier, equal call asked for, or inserts a new one. */
static int find_or_insert_approval(const struct tool_call *call, struct approval_record *r,
                                   struct error *err)
{
	struct approval_record found;

	if (store_approval_match(call->store, call->arena, r, &found, err) == 0) {
		*r = found;
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return store_approval_insert(call->store, r, PENDING_MAX, err);
}

static void sleep_poll_interval(void)
{
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};

	(void)nanosleep(&moment, NULL);
}

static int fail_refused(const struct approval_record *r, struct error *err)
{
	return FAIL(err, ERROR_FORBIDDEN, "the call was refused%s%.150s", r->note[0] ? ": " : "",
	            r->note);
}

static void add_pending_text(const struct tool_call *call, const struct approval_record *r,
                             struct tool_result *ret)
{
	ret->pending = r->id;
	tool_add_text(ret,
	              span_of(arena_format(call->arena,
	                                   "waiting for approval %s: nothing was done. A person "
	                                   "has to approve this call; then make the same call "
	                                   "again",
	                                   r->id)));
}

int tool_await_approval(const struct tool *tool, const struct tool_call *call, struct span input,
                        struct tool_result *ret, struct error *err)
{
	int64_t end = deadline_after(call->approval_wait_ms);
	struct approval_record r;

	if (describe_call(tool, call, input, &r, err) < 0 ||
	    find_or_insert_approval(call, &r, err) < 0)
		return -1;
	if (call->on_progress && r.state == APPROVAL_PENDING)
		call->on_progress(
		        call->progress_context,
		        span_of(arena_format(call->arena, "waiting for approval %s", r.id)));
	for (;;) {
		if (r.state == APPROVAL_APPROVED)
			return store_approval_use(call->store, &r, err);
		if (r.state == APPROVAL_REFUSED)
			return fail_refused(&r, err);
		if (r.state == APPROVAL_USED || r.expires_at <= clock_unix_ms())
			return FAIL(err, ERROR_CONFLICT, "approval '%s' was used or has expired",
			            r.id);
		if (deadline_poll_ms(end) == 0) {
			add_pending_text(call, &r, ret);
			return 0;
		}
		if (cancel_is_said(call->cancel))
			return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
		sleep_poll_interval();
		if (store_approval_find(call->store, call->arena, r.project_id, r.id, &r, err) < 0)
			return -1;
	}
}

int tool_decide_approval(struct store *store, struct arena *a, const struct tool_decision *d,
                         struct approval_record *ret, struct error *err)
{
	int64_t now = clock_unix_ms();
	const struct approval_decision decision = {
	        .project_id = d->project_id,
	        .id = d->id,
	        .from = APPROVAL_PENDING,
	        .to = d->approves ? APPROVAL_APPROVED : APPROVAL_REFUSED,
	        .note = d->note ? d->note : "",
	        .decided_by = d->key_id,
	        .now = now,
	        .expires_at = now + GRACE_MS,
	};
	struct approval_record r;

	if (store_approval_find(store, a, d->project_id, d->id, &r, err) < 0)
		return -1;
	if (d->approves && strcmp(r.key_id, d->key_id) == 0) {
		(void)FAIL(err, ERROR_FORBIDDEN, "the key that made the call cannot approve it");
		return FAIL_HINT(err, "approve it with another key");
	}
	if (store_approval_decide(store, &decision, err) < 0)
		return -1;
	return store_approval_find(store, a, d->project_id, d->id, ret, err);
}
