/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/access_watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/map.h"
#include "edge/access.h"
#include "edge/caller.h"
#include "edge/keys.h"
#include "http/server/http.h"
#include "http/server/streams.h"
#include "loop/loop.h"
#include "worker/worker.h"

/* The access of open streams. */
struct access_claim {
	struct access_claim *next;
	struct api_access access; /* without a scope: that is each stream's */
	struct account_caller as; /* what it may do now; set by the worker */
	bool is_refused;
	struct error why;
};

/* A worker checks all claims; then the loop ends streams. */
struct access_pass {
	struct worker_task task;
	struct loop_task done;
	struct access_watch *watch;
	struct arena arena;
	struct map claims; /* text of an access -> struct access_claim */
	struct access_claim *first;
};

struct access_watch {
	struct api *api;
	struct loop_timer timer;
	struct loop_task wish;    /* posted by api_access_changed */
	atomic_bool is_wished;    /* `wish` is posted */
	bool again;               /* something changed while the pass was under way */
	struct access_pass *pass; /* NULL: none is under way */
	atomic_uint_fast64_t ended;
};

static void pass_free(struct access_pass *p)
{
	if (!p)
		return;
	map_done(&p->claims);
	arena_done(&p->arena);
	free(p);
}

/* False for a stream that needs neither key nor session. */
static bool find_access(const struct request *rq, struct api_access *ret)
{
	const struct api_caller *caller = rq->caller;

	if (rq->lent_by) {
		*ret = *(const struct api_access *)rq->lent_by;
		return true;
	}
	if (!caller || !caller->account.key_id || !caller->account.key_id[0])
		return false;
	ret->caller.is_login = caller->is_login;
	memcpy(ret->caller.hash, caller->key_hash, sizeof(ret->caller.hash));
	ret->project = caller->account.project_id;
	ret->scope = rq->route ? rq->route->scope : 0;
	return true;
}

/* The same text for streams of the same key or session in the same project. */
static const char *text_of_access(struct arena *a, const struct api_access *access)
{
	char hash[2 * ACCOUNT_HASH_SIZE + 1];

	hex_encode(access->caller.hash, ACCOUNT_HASH_SIZE, hash);
	return arena_format(a, "%c%s %s", access->caller.is_login ? 'l' : 'k', hash,
	                    access->project);
}

/* A stream_review that ends nothing. */
static int add_claim(void *context, const struct request *rq, UNUSED struct error *err)
{
	struct access_pass *p = context;
	struct api_access access;
	struct access_claim *claim;
	const char *text;

	if (!find_access(rq, &access))
		return 0;
	text = text_of_access(&p->arena, &access);
	if (map_find(&p->claims, text))
		return 0;
	claim = ARENA_NEW(&p->arena, struct access_claim);
	claim->access = access;
	claim->access.project = arena_text(&p->arena, access.project);
	claim->next = p->first;
	p->first = claim;
	(void)map_put(&p->claims, text, claim);
	return 0;
}

static void check_claim(struct access_pass *p, struct access_claim *claim)
{
	struct error err = {0};

	if (api_access_look(p->watch->api, &p->arena, &claim->access, &claim->as, &err) == 0)
		return;
	claim->as = (struct account_caller){.scopes = SCOPE_ALL};
	claim->is_refused = api_access_is_lost(&err);
	claim->why = err;
	if (!claim->is_refused)
		log_warning("open streams could not be checked", FAILURE(&err));
}

static void run_pass(struct worker_task *task)
{
	struct access_pass *p = CONTAINER_OF(task, struct access_pass, task);

	for (struct access_claim *claim = p->first; claim; claim = claim->next)
		check_claim(p, claim);
	loop_post(p->watch->api->loop, &p->done);
}

/* A call into a sandbox whose run or conversation has spent its budget: only ending it ends the
 * spending. */
static bool is_over_budget(const struct request *rq, struct error *err)
{
	return rq->caller && rq->route && rq->route->scope == SCOPE_SANDBOX_WRITE &&
	       api_check_budgets(rq, err) < 0;
}

/* A stream that began after the pass has no claim in it. */
static int check_stream(void *context, const struct request *rq, struct error *err)
{
	struct access_pass *p = context;
	struct api_access access;
	const struct access_claim *claim;

	if (!find_access(rq, &access))
		return 0;
	claim = map_find(&p->claims, text_of_access(&p->arena, &access));
	if (!claim)
		return 0;
	if (!claim->is_refused)
		return account_require(&claim->as, access.scope, err) < 0 || is_over_budget(rq, err)
		               ? -1
		               : 0;
	*err = claim->why;
	return -1;
}

static void plan_pass(struct access_watch *w)
{
	loop_timer_start(w->api->loop, &w->timer, ACCESS_CHECK_MS);
}

static void begin_pass(struct access_watch *w);

static void on_pass_done(struct loop_task *task)
{
	struct access_pass *p = CONTAINER_OF(task, struct access_pass, done);
	struct access_watch *w = p->watch;
	unsigned ended = server_review_streams(w->api->server, check_stream, p);

	if (ended)
		log_info("open streams were ended: their callers lost access, or a budget is spent",
		         NUMBER("streams", ended));
	atomic_fetch_add(&w->ended, ended);
	w->pass = NULL;
	pass_free(p);
	if (w->again)
		begin_pass(w);
	else
		plan_pass(w);
}

/* When the workers' queue is full, the timer tries again. */
static void begin_pass(struct access_watch *w)
{
	struct access_pass *p = memory_new(sizeof(*p));
	struct error err;

	w->again = false;
	p->watch = w;
	p->task = (struct worker_task){.lane = WORKER_FAST, .run = run_pass};
	p->done.run = on_pass_done;
	(void)server_review_streams(w->api->server, add_claim, p);
	if (!p->first || worker_submit(w->api->workers, &p->task, &err) < 0) {
		pass_free(p);
		plan_pass(w);
		return;
	}
	w->pass = p;
}

static void on_access_timer(void *context)
{
	struct access_watch *w = context;

	if (w->api->server && !w->pass)
		begin_pass(w);
	else if (!w->pass)
		plan_pass(w);
}

static void on_wish(struct loop_task *task)
{
	struct access_watch *w = CONTAINER_OF(task, struct access_watch, wish);

	atomic_store(&w->is_wished, false);
	if (w->pass) {
		w->again = true;
		return;
	}
	loop_timer_stop(w->api->loop, &w->timer);
	on_access_timer(w);
}

void api_access_changed(struct api *api)
{
	struct access_watch *w = api->access;

	api_key_cache_clear(api->keys);
	if (w && !atomic_exchange(&w->is_wished, true))
		loop_post(api->loop, &w->wish);
}

uint64_t access_watch_ended(const struct access_watch *w)
{
	return w ? atomic_load(&w->ended) : 0;
}

struct access_watch *access_watch_new(struct api *api)
{
	const struct fleet_caller_check check = {api_fleet_caller_check, api};
	struct access_watch *w = memory_new(sizeof(*w));

	if (api->fleet)
		fleet_on_caller_check(api->fleet, &check);
	w->api = api;
	w->timer = (struct loop_timer){.on_timer = on_access_timer, .context = w};
	w->wish.run = on_wish;
	plan_pass(w);
	return w;
}

void access_watch_free(struct access_watch *w)
{
	if (!w)
		return;
	loop_timer_stop(w->api->loop, &w->timer);
	pass_free(w->pass);
	free(w);
}
