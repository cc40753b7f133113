/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/log/log.h"
#include "base/log.h"
#include "config/config.h"
#include "edge/audit_words.h"
#include "edge/caller.h"
#include "edge/hooks.h"
#include "http/server/http.h"
#include "store/changes.h"

#define ADMINISTRATIVE (SCOPE_ADMIN | SCOPE_PROJECT_WRITE | SCOPE_KEY_WRITE | SCOPE_TEMPLATE_WRITE)
#define STATUS_SWITCH 101

/* request->notes */
struct api_audit {
	struct audit_note *note;
	const struct account_caller *caller; /* in the request's arena; NULL: not known */
	struct store_changes changes;
	char subject[AUDIT_TEXT_MAX];
	const char *project, *user, *key; /* of a request without a caller; NULL: not known */
	int failure; /* status of a failure that the reply does not tell; 0 = none */
	bool is_answered, is_attached;
};

/* Whether the route changes permissions, or what new sandboxes start from. */
static bool is_administrative(const struct route *route)
{
	return route->method != HTTP_GET && (route->scope & ADMINISTRATIVE) != 0;
}

static struct api_audit *audit_of(struct request *rq)
{
	struct api_audit *audit = rq->notes;

	if (!audit) {
		audit = memory_new(sizeof(*audit));
		audit->changes = STORE_CHANGES;
		rq->notes = audit;
	}
	return audit;
}

/* Whether the operation has a row when it is used. */
static bool is_audited(const struct request *rq)
{
	const struct api *api = api_of(rq);

	return api->audit && audit_is_write(rq->route) &&
	       (api->config->audit_calls || !audit_is_call(rq->route));
}

bool api_audit_is_durable(const struct request *rq, const struct route *route)
{
	return api_of(rq)->audit && is_administrative(route);
}

void api_audit_see(struct request *rq, const struct account_caller *caller)
{
	struct account_caller *kept;

	if (!is_audited(rq))
		return;
	kept = ARENA_NEW(rq->arena, struct account_caller);
	*kept = *caller;
	audit_of(rq)->caller = kept;
}

/* A client that a proxy names has only the proxy's word. */
static const char *address_of(struct request *rq)
{
	const char *forwarded = rq->exchange ? request_header(rq, "X-Forwarded-For") : NULL;
	const char *port = strrchr(rq->peer, ':');
	struct span peer = {rq->peer, port ? (size_t)(port - rq->peer) : strlen(rq->peer)};

	if (!forwarded || !forwarded[0])
		return arena_copy(rq->arena, peer);
	return arena_format(rq->arena, "%.*s for %.128s", (int)peer.size, peer.data, forwarded);
}

/* The path of a public route may hold a secret, and so does a part that is a token. */
static bool has_secret_path(const struct route *route)
{
	return route->flags & ROUTE_PUBLIC || strstr(route->path, "/:token");
}

static struct audit_start start_of(struct request *rq, const struct account_caller *caller,
                                   const char *token_of)
{
	bool is_public = rq->route->flags & ROUTE_PUBLIC;
	struct audit_start start = {
	        .via = token_of ? "token" : "link",
	        .address = address_of(rq),
	        .user_agent = request_header(rq, "User-Agent"),
	        .action = audit_action(rq->arena, rq->route),
	        .method = rq->method_name,
	        .path = has_secret_path(rq->route) ? rq->route->path : rq->path,
	        .conversation = request_header(rq, "Atoll-Conversation"),
	        .request_id = rq->id,
	};

	if (caller && !token_of) {
		start.project_id = caller->project_id;
		start.user_id = caller->user_id;
		start.key_id = caller->key_id;
		start.via = caller->is_login ? "session" : "key";
	}
	if (token_of)
		start.target_id = token_of;
	else if (!is_public)
		audit_target(rq, &start.target_kind, &start.target_id);
	return start;
}

int api_audit_begin(struct request *rq, const struct account_caller *caller, const char *token_of,
                    struct error *err)
{
	struct audit_start start;

	if (!is_audited(rq) || (rq->notes && audit_of(rq)->note))
		return 0;
	start = start_of(rq, caller, token_of);
	start.is_durable = is_administrative(rq->route) && !request_is_on_loop(rq);
	api_audit_see(rq, caller);
	return audit_begin(api_of(rq)->audit, &start, &audit_of(rq)->note, err);
}

int api_audit_open(struct request *rq, struct error *err)
{
	struct api_audit *audit;
	struct audit_start start;

	if (!is_audited(rq) || !rq->exchange)
		return 0;
	audit = audit_of(rq);
	if (audit->note)
		return 0;
	start = start_of(rq, NULL, NULL);
	start.via = "public";
	if (audit_begin(api_of(rq)->audit, &start, &audit->note, err) < 0)
		return -1;
	store_changes_collect(&audit->changes);
	return 0;
}

int api_audit_call_begin(struct request *rq, const struct api_audit_subject *subject,
                         struct api_audit_call *ret, struct error *err)
{
	const struct api *api = api_of(rq);
	struct audit_start start;

	*ret = (struct api_audit_call){.changes = STORE_CHANGES};
	if (!api->audit || !api->config->audit_calls)
		return 0;
	start = start_of(rq, api_account(rq), NULL);
	start.action = subject->action;
	start.target_kind = subject->kind;
	start.target_id = subject->id;
	return audit_begin(api->audit, &start, &ret->note, err);
}

void api_audit_call_collect(struct api_audit_call *call, bool begins)
{
	if (call->note)
		store_changes_collect(begins ? &call->changes : NULL);
}

static const char *result_of(int status)
{
	return status < 400 ? "ok" : status < 500 ? "refused" : "failed";
}

static void set_change(struct audit_note *note, const struct store_changes *changes,
                       struct arena *a)
{
	if (changes->count + changes->left_out > 0)
		audit_set_change(note, store_changes_before(changes, a),
		                 store_changes_after(changes, a));
	audit_set_made(note, changes->made);
}

void api_audit_call_end(struct api_audit_call *call, struct arena *a, int status)
{
	if (status > 0) {
		set_change(call->note, &call->changes, a);
		audit_end(TAKE(call->note), result_of(status), status);
	} else {
		audit_cancel(TAKE(call->note));
	}
	store_changes_done(&call->changes);
}

void api_audit_refuse(struct request *rq, int status)
{
	struct api_audit *audit = rq->notes;

	if (!audit)
		return;
	audit->is_answered = true;
	audit_end(TAKE(audit->note), result_of(status), status);
}

void api_audit_project(struct request *rq, const char *project_id)
{
	struct api_audit *audit = rq->notes;

	if (audit && audit->note) {
		audit_set_project(audit->note, project_id);
	} else if (rq->exchange && rq->route && rq->route->flags & ROUTE_PUBLIC) {
		audit_of(rq)->project = arena_text(rq->arena, project_id);
	}
}

void api_audit_subject(struct request *rq, const char *subject)
{
	if (!rq->exchange)
		return; /* a copy of a request */
	(void)snprintf(audit_of(rq)->subject, AUDIT_TEXT_MAX, "%s", subject);
}

void api_audit_who(struct request *rq, const char *user_id, const char *key_id)
{
	struct api_audit *audit = audit_of(rq);

	audit->user = arena_text(rq->arena, user_id);
	audit->key = arena_text(rq->arena, key_id);
}

void api_audit_failure(struct request *rq, const struct error *err)
{
	audit_of(rq)->failure = error_kind_get(err->code)->http_status;
}

void api_audit_event(struct request *rq, const char *action)
{
	struct audit_start start = start_of(rq, api_account(rq), NULL);

	start.action = action;
	audit_add(api_of(rq)->audit, &start, "ok", 0);
}

void api_audit_link(struct request *rq, const struct api_audit_use *use)
{
	struct audit_start start = start_of(rq, NULL, NULL);

	if (!audit_admits_link(api_of(rq)->audit, use->target_id))
		return;
	start.action = use->action;
	start.project_id = use->project_id;
	start.target_kind = use->target_kind;
	start.target_id = use->target_id;
	start.after_json = use->after_json;
	audit_add(api_of(rq)->audit, &start, "ok", 0);
}

void api_on_handle(struct request *rq, bool begins)
{
	struct api_audit *audit = rq->notes;

	if (!begins) {
		store_changes_collect(NULL);
		if (audit && audit->note)
			set_change(audit->note, &audit->changes, rq->arena);
		return;
	}
	if (audit && audit->note)
		store_changes_collect(&audit->changes);
}

/* Rows about these would grow with the load, and nothing was done. */
static bool is_overload(int status)
{
	return status == 429 || status == 503;
}

/* A refusal of a caller that no key, session, token or link names. */
static bool is_left_out(struct request *rq, int status)
{
	const struct api_audit *audit = rq->notes;

	if (!(rq->route->flags & ROUTE_PUBLIC) || (audit && (audit->caller || audit->user)))
		return false;
	return is_overload(status) || (status >= 400 && !audit_admits_stranger(api_of(rq)->audit));
}

/* What has no note: a refusal before the admission, and a public write. */
static void add_answer(struct request *rq, int status)
{
	const struct api_audit *audit = rq->notes;
	const struct account_caller *caller = audit ? audit->caller : NULL;
	bool is_public = rq->route && (rq->route->flags & ROUTE_PUBLIC);
	struct audit_start start;

	if (!rq->route || (audit && audit->is_answered) || is_overload(status) || !is_audited(rq) ||
	    (!caller && !is_public) || is_left_out(rq, status))
		return;
	start = start_of(rq, caller, NULL);
	if (audit && audit->subject[0])
		start.target_id = audit->subject;
	if (audit && audit->project)
		start.project_id = audit->project;
	if (is_public)
		start.via = "public";
	audit_add(api_of(rq)->audit, &start, result_of(status), status);
}

void api_on_answer(struct request *rq, int status)
{
	struct api_audit *audit = rq->notes;

	if (!api_of(rq)->audit)
		return;
	if (!audit || !audit->note) {
		add_answer(rq, status);
		return;
	}
	audit->is_attached = status == STATUS_SWITCH;
	audit->is_answered = true;
	if (audit->failure)
		status = audit->failure;
	if (is_left_out(rq, status)) {
		audit_cancel(TAKE(audit->note));
		return;
	}
	if (audit->subject[0])
		audit_set_target(audit->note, NULL, audit->subject);
	if (audit->user)
		audit_set_who(audit->note, audit->user, audit->key);
	audit_end(TAKE(audit->note), result_of(status), status);
}

void api_audit_done(struct request *rq, int status)
{
	struct api_audit *audit = rq->notes;

	if (!audit)
		return;
	/* Without an answer nothing told the client how it ended. */
	audit_end(TAKE(audit->note), result_of(status), status);
	if (audit->is_attached) {
		struct audit_start start = start_of(rq, audit->caller, NULL);

		start.action = audit_detach_action(rq->arena, rq->route);
		audit_add(api_of(rq)->audit, &start, "ok", 0);
	}
	store_changes_done(&audit->changes);
	free(audit);
	rq->notes = NULL;
}

void api_audit_log(const struct request *rq, const struct api_caller *caller, int status)
{
	const struct account_caller *who = &caller->account;
	const struct api_audit *audit = rq->notes;

	if (!is_administrative(rq->route))
		return;
	log_request_set(rq->id);
	log_info("audit", TEXT("method", rq->method_name), TEXT("path", rq->path),
	         TEXT("subject", audit ? audit->subject : ""), NUMBER("status", status),
	         TEXT("project", who->project_id), TEXT("key", who->key_id),
	         TEXT("user", who->user_id), TEXT("peer", rq->peer));
	log_request_set(NULL);
}
