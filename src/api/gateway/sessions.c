/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gateway/sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/files.h"
#include "api/tables.h"
#include "base/clock.h"
#include "base/log.h"

#define BASE "/v1/sandbox/sessions"
#define LOCKS 64
#define ATTEMPTS 3

struct api_sessions {
	pthread_mutex_t locks[LOCKS];
};

struct api_sessions *api_sessions_new(void)
{
	struct api_sessions *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	for (unsigned i = 0; i < LOCKS; i++)
		(void)pthread_mutex_init(&s->locks[i], NULL);
	return s;
}

void api_sessions_free(struct api_sessions *s)
{
	for (unsigned i = 0; s && i < LOCKS; i++)
		(void)pthread_mutex_destroy(&s->locks[i]);
	free(s);
}

static pthread_mutex_t *lock_of(struct api_sessions *s, const char *tenant_id,
                                const char *session_id)
{
	uint32_t hash = 2166136261u;

	for (const char *c = tenant_id; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	for (const char *c = session_id; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	return &s->locks[hash % LOCKS];
}

struct session {
	struct request *rq;
	const char *tenant_id, *session_id;
};

static int find_record(const struct session *s, struct session_record *ret, struct error *err)
{
	const struct session_ref ref = {api_project(s->rq), s->tenant_id, s->session_id};

	return store_session_find(api_of(s->rq)->store, s->rq->arena, &ref, ret, err);
}

static int make_sandbox(const struct session *s, struct sandbox_record *ret, struct error *err)
{
	struct api *api = api_of(s->rq);
	/* A provider that isolates nothing cannot block either; the sandbox's record says so. */
	bool can_block = provider_ops_of(api->provider)->abilities & PROVIDER_CAN_BLOCK_NETWORK;
	struct json_pair labels[] = {{"tenant_id", s->tenant_id}, {"session_id", s->session_id}};
	struct fleet_create request = {
	        .project_id = api_project(s->rq),
	        .key_id = api_account(s->rq)->key_id,
	        .labels = {labels, COUNT_OF(labels), true},
	        .internet = !can_block,
	        .idle_reap_ms = api->config->session_idle_ms,
	        .wait = true,
	};

	return fleet_create(api->fleet, s->rq->arena, &request, ret, err);
}

static void drop_sandbox(const struct session *s, const char *id)
{
	const struct fleet_ref ref = {api_project(s->rq), id};
	struct error err;

	if (fleet_delete(api_of(s->rq)->fleet, s->rq->arena, &ref, SANDBOX_REASON_USER, &err) < 0)
		log_warning("a session's spare sandbox could not be deleted", TEXT("sandbox", id),
		            FAILURE(&err));
}

/* Another atolld may have been faster: then its sandbox is the session's. */
static int begin_session(const struct session *s, struct session_record *ret, struct error *err)
{
	struct api *api = api_of(s->rq);
	int64_t now = clock_unix_ms();
	struct sandbox_record made;

	if (make_sandbox(s, &made, err) < 0)
		return -1;
	*ret = (struct session_record){
	        .project_id = api_project(s->rq),
	        .tenant_id = s->tenant_id,
	        .session_id = s->session_id,
	        .sandbox_id = made.id,
	        .created_at = now,
	        .last_used_at = now,
	};
	if (store_session_insert(api->store, ret, (unsigned)api->config->sessions_max, err) == 0)
		return 0;
	drop_sandbox(s, made.id);
	if (err->code != ERROR_CONFLICT)
		return -1;
	return find_record(s, ret, err);
}

/* 1 = it takes commands, 0 = it has gone and the session is forgotten. */
static int revive(const struct session *s, const char *sandbox_id, struct error *err)
{
	const struct fleet_ref ref = {api_project(s->rq), sandbox_id};
	struct api *api = api_of(s->rq);
	struct sandbox_record r;

	if (fleet_find(api->fleet, s->rq->arena, &ref, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		r.actual = SANDBOX_DELETED;
	}
	if (r.actual == SANDBOX_STOPPED)
		return fleet_start(api->fleet, s->rq->arena, &ref, &r, err) < 0 ? -1 : 1;
	if (r.actual == SANDBOX_FAILED)
		drop_sandbox(s, sandbox_id);
	else if (r.actual != SANDBOX_DELETING && r.actual != SANDBOX_DELETED)
		return 1;
	return store_session_remove_of(api->store, sandbox_id, err);
}

static int find_or_make(const struct session *s, struct api_target *ret, struct error *err)
{
	struct session_record record;

	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		int alive;

		if (find_record(s, &record, err) < 0 &&
		    (err->code != ERROR_NOT_FOUND || begin_session(s, &record, err) < 0))
			return -1;
		if (api_target_open_id(s->rq, record.sandbox_id, ret, err) == 0) {
			store_session_touch(api_of(s->rq)->store, record.sandbox_id,
			                    clock_unix_ms());
			return 0;
		}
		if (err->code != ERROR_NOT_FOUND && err->code != ERROR_CONFLICT)
			return -1;
		alive = revive(s, record.sandbox_id, err);
		if (alive < 0)
			return -1;
	}
	return FAIL(err, ERROR_UNAVAILABLE, "the session's sandbox keeps going away");
}

int session_open(struct request *rq, const char *tenant_id, const char *session_id,
                 struct api_target *ret, struct error *err)
{
	struct session s = {rq, tenant_id, session_id};
	pthread_mutex_t *lock = lock_of(api_of(rq)->sessions, tenant_id, session_id);
	int result;

	(void)pthread_mutex_lock(lock);
	result = find_or_make(&s, ret, err);
	(void)pthread_mutex_unlock(lock);
	return result;
}

/* ---- /v1/sandbox/sessions ---- */

struct session_answer {
	const char *tenant_id, *session_id, *sandbox_id;
	int64_t created_at, last_used_at;
};
static const struct json_member session_shape_members[] = {
        JSON_TEXT_MEMBER(session_answer, tenant_id),
        JSON_TEXT_MEMBER(session_answer, session_id),
        JSON_TEXT_MEMBER(session_answer, sandbox_id),
        JSON_TIME_MEMBER(session_answer, created_at),
        JSON_TIME_MEMBER(session_answer, last_used_at),
        JSON_END,
};
static JSON_SHAPE(session_shape, "Session", session_answer, "A tenant's session and its sandbox");
struct session_items {
	struct json_list items;
};
static const struct json_member session_list_shape_members[] = {
        JSON_LIST_MEMBER(session_items, items, &session_shape),
        JSON_END,
};
static JSON_SHAPE(session_list_shape, "SessionList", session_items, "Sessions");

static int sessions_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct session_list found;
	struct session_answer *items;
	struct session_items out;

	(void)body;
	if (store_session_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct session_answer, found.count);
	for (size_t i = 0; i < found.count; i++) {
		const struct session_record *r = &found.items[i];

		items[i] = (struct session_answer){r->tenant_id, r->session_id, r->sandbox_id,
		                                   r->created_at, r->last_used_at};
	}
	out = (struct session_items){.items = {items, found.count, true}};
	reply_json(reply, &session_list_shape, &out);
	return 0;
}

static int session_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	struct api *api = api_of(rq);
	const struct session_ref ref = {api_project(rq), request_param(rq, "tenant"),
	                                request_param(rq, "session")};
	struct session_record record;
	struct fleet_ref sandbox;

	(void)body;
	if (store_session_find(api->store, rq->arena, &ref, &record, err) < 0)
		return -1;
	sandbox = (struct fleet_ref){ref.project_id, record.sandbox_id};
	if (fleet_delete(api->fleet, rq->arena, &sandbox, SANDBOX_REASON_USER, err) < 0 &&
	    err->code != ERROR_NOT_FOUND)
		return -1;
	if (store_session_remove(api->store, &ref, err) < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	reply_status(reply, 204);
	return 0;
}

const struct route gateway_session_routes[] = {
        {HTTP_GET, BASE, SCOPE_ADMIN, .answer = &session_list_shape, .handle = sessions_list,
         .tag = "sessions", .summary = "List the project's sessions"},
        {HTTP_DELETE, BASE "/:tenant/:session", SCOPE_ADMIN, ROUTE_SLOW, .status = 204,
         .handle = session_delete, .tag = "sessions",
         .summary = "Delete a session and its sandbox"},
        {.path = NULL},
};
