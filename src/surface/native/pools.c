/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/pools — numbers of prepared sandboxes (docs/use/pools.md). */
#include "surface/native/pools.h"

#include "config/config.h"
#include "edge/api.h"
#include "fleet/template/pools.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/pools"
#define NOT_GIVEN (-1)

struct pool_problem {
	const char *code, *message, *hint;
};
static const struct json_member pool_problem_shape_members[] = {
        JSON_TEXT_MEMBER(pool_problem, code, .example = "not_found"),
        JSON_TEXT_MEMBER(pool_problem, message),
        JSON_TEXT_MEMBER(pool_problem, hint, .about = "how to fix it"),
};
static JSON_SHAPE(pool_problem_shape, "PoolProblem", pool_problem, "Why a pool cannot be filled");

struct pool_answer {
	const char *state;
	struct pool_problem problem;
	const char *template, *template_id;
	bool automatic, internet;
	int64_t min, target, max, ready, preparing, hits, misses, depth, memory_mb, disk_mb, pids;
	double hit_ratio, cpu;
};
static const struct json_member pool_shape_members[] = {
        JSON_TEXT_MEMBER(pool_answer, state,
                         .about = "ready, filling (fewer than min are prepared) or failing"),
        JSON_OBJECT_MEMBER(pool_answer, problem, &pool_problem_shape, .flags = JSON_OMIT_EMPTY,
                           .about = "set if the pool is failing"),
        JSON_TEXT_MEMBER(pool_answer, template),
        JSON_TEXT_MEMBER(pool_answer, template_id, .flags = JSON_NULLABLE,
                         .about = "null: an automatic pool, identified by the template's folder"),
        JSON_BOOL_MEMBER(pool_answer, automatic, .about = "the pool follows the demand"),
        JSON_WHOLE_MEMBER(pool_answer, min,
                          .about = "number of sandboxes kept while the pool is unused"),
        JSON_WHOLE_MEMBER(pool_answer, target,
                          .about = "number of sandboxes kept while the pool is used"),
        JSON_WHOLE_MEMBER(pool_answer, max, .about = "upper limit when misses let the pool grow"),
        JSON_WHOLE_MEMBER(pool_answer, ready, .about = "number of prepared sandboxes"),
        JSON_WHOLE_MEMBER(pool_answer, preparing),
        JSON_WHOLE_MEMBER(pool_answer, hits,
                          .about = "creates that got a prepared sandbox since the broker started"),
        JSON_WHOLE_MEMBER(pool_answer, misses, .about = "creates that found no prepared sandbox"),
        JSON_NUMBER_MEMBER(pool_answer, hit_ratio,
                           .about = "hits / (hits + misses) since the broker started; 0 before the "
                                    "first create"),
        JSON_WHOLE_MEMBER(pool_answer, depth,
                          .about = "number of snapshot layers of the pool's sandboxes; 0: none"),
        JSON_BOOL_MEMBER(pool_answer, internet),
        JSON_NUMBER_MEMBER(pool_answer, cpu),
        JSON_WHOLE_MEMBER(pool_answer, memory_mb),
        JSON_WHOLE_MEMBER(pool_answer, disk_mb),
        JSON_WHOLE_MEMBER(pool_answer, pids),
};
static JSON_SHAPE(pool_shape, "Pool", pool_answer, "A pool of prepared sandboxes");

static const struct json_member pools_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &pool_shape),
};
static JSON_SHAPE(pools_shape, "PoolList", list_answer, "Pools");

static const struct json_member pool_body_shape_members[] = {
        [POOL_MIN] = JSON_WHOLE_MEMBER(
                pool_body, min, .max = FLEET_POOL_MAX,
                .about = "number of sandboxes kept while the pool is unused (default: target)"),
        [POOL_TARGET] = JSON_WHOLE_MEMBER(
                pool_body, target, .max = FLEET_POOL_MAX,
                .about = "number of sandboxes kept while the pool is used; 0: no pool"),
        [POOL_MAX] = JSON_WHOLE_MEMBER(
                pool_body, max, .max = FLEET_POOL_MAX,
                .about = "upper limit when misses let the pool grow (default: twice the target)"),
        [POOL_INTERNET] = JSON_BOOL_MEMBER(pool_body, internet,
                                           .about = "only the server's default is supported"),
};
JSON_BITS_SHAPE(pool_body_shape, "PoolSize", pool_body, "Size of a pool of prepared sandboxes");

static int64_t given_or_unset(const struct pool_body *b, unsigned member, int64_t value)
{
	return row_is_given(b->present, member) ? value : NOT_GIVEN;
}

static int check_network(const struct pool_body *b, bool server_internet, struct error *err)
{
	if (!row_is_given(b->present, POOL_INTERNET) || b->internet == server_internet)
		return 0;
	error_set(err, ERROR_UNSUPPORTED, 0, HERE,
	          "a template's pool has the server's network: sandboxes %s internet",
	          server_internet ? "with" : "without");
	error_hint(err, "creates that ask for another network get automatic pools "
	                "(pool_automatic), or change the server's option 'internet'");
	return -1;
}

int pool_body_parse(const struct pool_body *b, bool server_internet, struct fleet_pool_size *ret,
                    struct error *err)
{
	if (check_network(b, server_internet, err) < 0)
		return -1;
	if ((b->present & ~(UINT64_C(1) << POOL_INTERNET)) == 0)
		return FAIL(err, ERROR_INVALID, "pool: target is missing; 0 means no pool");
	return fleet_pool_size(given_or_unset(b, POOL_MIN, b->min),
	                       given_or_unset(b, POOL_TARGET, b->target),
	                       given_or_unset(b, POOL_MAX, b->max), ret, err);
}

static const char *pool_state_name(const struct fleet_pool *pool)
{
	if (pool->is_failing)
		return "failing";
	return pool->state.ready < pool->state.min ? "filling" : "ready";
}

static struct pool_answer make_pool_answer(const struct fleet_pool *pool)
{
	const struct provider_pool *s = &pool->state;
	struct pool_problem problem = {NULL, NULL, NULL};

	if (pool->is_failing)
		problem = (struct pool_problem){error_kind_get(pool->problem.code)->name,
		                                pool->problem.text, pool->problem.hint};
	return (struct pool_answer){
	        .state = pool_state_name(pool),
	        .problem = problem,
	        .template = pool->template_name ? pool->template_name : s->template_dir,
	        .template_id = pool->template_id,
	        .automatic = !pool->template_id,
	        .internet = s->network == SANDBOX_NETWORK_INTERNET,
	        .min = s->min,
	        .target = s->target,
	        .max = s->max,
	        .ready = s->ready,
	        .preparing = s->preparing,
	        .hits = (int64_t)s->hits,
	        .misses = (int64_t)s->misses,
	        .hit_ratio = fleet_pool_hit_ratio(s->hits, s->misses),
	        .depth = s->depth,
	        .cpu = s->resources.cpu,
	        .memory_mb = s->resources.memory_mb,
	        .disk_mb = s->resources.disk_mb,
	        .pids = s->resources.pids,
	};
}

static bool is_admin(const struct request *rq)
{
	return (api_account(rq)->scopes & SCOPE_ADMIN) != 0;
}

static int pools_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct fleet_pools found;
	struct pool_answer *items;

	/* Automatic pools show the demand of all projects, so only admins see them. */
	if (fleet_pools_list(api_of(rq)->fleet, rq->arena, api_project(rq), is_admin(rq), &found,
	                     err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct pool_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_pool_answer(&found.items[i]);
	reply_list(reply, &pools_shape, items, found.count);
	return 0;
}

static int pool_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct fleet_pool_change change = {
	        .template = {api_project(rq), request_param(rq, "template")},
	        .may_change_shared = is_admin(rq),
	};
	struct fleet_pool pool;
	struct pool_answer out;

	if (pool_body_parse(body, api_of(rq)->config->internet, &change.size, err) < 0 ||
	    fleet_pool_set(api_of(rq)->fleet, rq->arena, &change, &pool, err) < 0)
		return -1;
	out = make_pool_answer(&pool);
	reply_json(reply, &pool_shape, &out);
	return 0;
}

#define TAG .tag = "templates"
const struct route pools_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &pools_shape, .handle = pools_list, TAG,
         .summary = "List the pools of the project's templates and of shared templates"},
        {HTTP_PUT, BASE "/:template", SCOPE_TEMPLATE_WRITE, ROUTE_NEEDS_BODY,
         .body = &pool_body_shape, .answer = &pool_shape, .handle = pool_put, TAG,
         .summary = "Set the size of a template's pool"},
        {.path = NULL},
};
