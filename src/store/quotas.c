/* SPDX-License-Identifier: Apache-2.0 */
#include "store/quotas.h"

#include <string.h>

#include "base/clock.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

struct quota_rates {
	const char *name;
};

struct quota_day {
	const char *subject;
	int64_t day;
};
struct quota_sum {
	int64_t bytes;
};

COLUMNS_OF(quota_record);
COLUMNS_OF(quota_day);
COLUMNS_OF(quota_sum);
COLUMNS_OF(quota_subject);
COLUMNS_OF(quota_caller);
COLUMNS_OF(quota_rates);
COLUMNS_OF(quota_rate);
COLUMNS_OF(quota_use);
COLUMNS_OF(egress_cut_record);
COLUMNS_OF(egress_cut_page);

static const enum query_name use_queries[QUOTA_SCOPE_COUNT] = {
        [QUOTA_PROJECT] = QUERY_QUOTA_USE_PROJECT,
        [QUOTA_KEY] = QUERY_QUOTA_USE_KEY,
        [QUOTA_ORGANIZATION] = QUERY_QUOTA_USE_ORGANIZATION,
};

static const enum query_name egress_queries[QUOTA_SCOPE_COUNT] = {
        [QUOTA_PROJECT] = QUERY_EGRESS_SUM_PROJECT,
        [QUOTA_KEY] = QUERY_EGRESS_SUM_KEY,
        [QUOTA_ORGANIZATION] = QUERY_EGRESS_SUM_ORGANIZATION,
};

static int run_quota_change(struct store_connection *c, void *context, struct error *err)
{
	const struct quota_change *change = context;

	for (unsigned i = 0; i < QUOTA_LIMIT_COUNT; i++) {
		const struct quota_record r = {.scope = change->subject.scope,
		                               .subject = change->subject.subject,
		                               .name = quota_limits[i].name,
		                               .value = change->values[i],
		                               .updated_at = change->now};

		if (r.value < 0)
			continue;
		if (query_run(c, r.value > 0 ? QUERY_QUOTA_PUT : QUERY_QUOTA_REMOVE, &r, NULL,
		              err) < 0)
			return -1;
	}
	return 0;
}

int store_quota_change(struct store *s, const struct quota_change *change, struct error *err)
{
	return store_change(s, run_quota_change, change, err);
}

int store_quota_list(struct store *s, struct arena *a, const struct quota_subject *subject,
                     struct quota_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_QUOTA_LIST, subject, LIST_INTO(a, ret), err);
}

int store_quota_use(struct store *s, const struct quota_subject *subject, struct quota_use *ret,
                    struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};

	return ROW_OR(store_find_query(s, use_queries[quota_scope_find(subject->scope)], subject,
	                               INTO(&a, ret), err),
	              FAIL(err, ERROR_SYSTEM, "a sum has no row"));
}

int store_quota_egress(struct store *s, const struct quota_subject *subject, int64_t day,
                       int64_t *ret_bytes, struct error *err)
{
	const struct quota_day takes = {subject->subject, day};
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct quota_sum sum = {0};

	if (store_find_query(s, egress_queries[quota_scope_find(subject->scope)], &takes,
	                     INTO(&a, &sum), err) < 0)
		return -1;
	*ret_bytes = sum.bytes;
	return 0;
}

int store_egress_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_EGRESS_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}

int store_quota_is_used(struct store *s, enum quota_limit limit, bool *ret, struct error *err)
{
	const struct quota_rates wanted = {quota_limits[limit].name};
	int64_t count;

	if (store_count_query(s, QUERY_QUOTA_COUNT_NAMED, &wanted, &count, err) < 0)
		return -1;
	*ret = count > 0;
	return 0;
}

int store_quota_list_named(struct store *s, struct arena *a, enum quota_limit limit,
                           struct quota_list *ret, struct error *err)
{
	const struct quota_rates wanted = {quota_limits[limit].name};

	return store_list_query(s, QUERY_QUOTA_LIST_NAMED, &wanted, LIST_INTO(a, ret), err);
}

int store_egress_cut_list(struct store *s, struct arena *a, const struct egress_cut_page *page,
                          struct egress_cut_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_EGRESS_CUT_LIST, page, LIST_INTO(a, ret), err);
}

int store_quota_organization(struct store *s, struct arena *a, const char *project_id,
                             struct quota_subject *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_QUOTA_FIND_ORGANIZATION, LOOKUP(.id = project_id),
	                               INTO(a, ret), err),
	              FAIL_MISSING(err, "project", project_id));
}

int store_quota_rates(struct store *s, struct arena *a, struct quota_rate_list *ret,
                      struct error *err)
{
	const struct quota_rates wanted = {quota_limits[QUOTA_REQUESTS_PER_SECOND].name};

	return store_list_query(s, QUERY_QUOTA_LIST_RATES, &wanted, LIST_INTO(a, ret), err);
}

/* What one transaction has read: the use of each scope, once. */
struct quota_look {
	const struct quota_admission *admission;
	struct arena arena;
	struct quota_use of[QUOTA_SCOPE_COUNT];
	bool has[QUOTA_SCOPE_COUNT];
};

static int64_t reset_of(const struct quota_record *r, enum quota_kind kind, int64_t now)
{
	switch (kind) {
	case QUOTA_WINDOW:
		return r->window_at + QUOTA_WINDOW_MS;
	case QUOTA_DAY:
		return quota_day(now) + QUOTA_DAY_MS;
	case QUOTA_AMOUNT:
	case QUOTA_RATE:
		break;
	}
	return 0;
}

static int refuse_by_quota(const struct quota_look *look, const struct quota_record *r,
                           enum quota_limit limit, double used, struct error *err)
{
	const struct quota_refusal refusal = {
	        .scope = r->scope,
	        .subject = r->subject,
	        .limit = limit,
	        .value = r->value,
	        .used = used,
	        .reset_at = reset_of(r, quota_limits[limit].kind, look->admission->now),
	        .now = look->admission->now,
	};

	return quota_refuse(&refusal, err);
}

static int check_window(struct store_connection *c, struct quota_look *look,
                        const struct quota_record *r, enum quota_limit limit, struct error *err)
{
	int64_t now = look->admission->now;
	struct quota_record counted = *r;

	counted.window_at = now - now % QUOTA_WINDOW_MS;
	/* The clock of a server that counted before may be ahead. */
	if (r->window_at > counted.window_at && r->window_at - now < QUOTA_WINDOW_MS)
		counted.window_at = r->window_at;
	if (r->window_at == counted.window_at && (double)(r->used + 1) > r->value)
		return refuse_by_quota(look, &counted, limit, (double)r->used, err);
	if (r->value < 1)
		return refuse_by_quota(look, &counted, limit, 0, err);
	return query_run(c, QUERY_QUOTA_COUNT_CREATE, &counted, NULL, err) < 0 ? -1 : 0;
}

/* The sandbox of the admission counts already. */
static int check_amount(struct store_connection *c, struct quota_look *look,
                        const struct quota_record *r, enum quota_limit limit, struct error *err)
{
	const struct quota_subject subject = {r->scope, r->subject};
	enum quota_scope scope = quota_scope_find(r->scope);
	double own = quota_used(&look->admission->own, limit), used;

	/* A resize to less is allowed above a quota that was lowered. */
	if (scope == QUOTA_SCOPE_COUNT || (look->admission->event == QUOTA_ON_RESIZE && own <= 0))
		return 0;
	if (!look->has[scope] && query_find(c, use_queries[scope], &subject,
	                                    INTO(&look->arena, &look->of[scope]), err) < 0)
		return -1;
	look->has[scope] = true;
	used = quota_used(&look->of[scope], limit);
	/* Of stopped ones a create itself adds none. */
	if (limit == QUOTA_SANDBOXES_STOPPED && look->admission->event == QUOTA_ON_CREATE
	            ? used < r->value
	            : used <= r->value)
		return 0;
	return refuse_by_quota(look, r, limit, used - own, err);
}

static int check_day(struct store_connection *c, struct quota_look *look,
                     const struct quota_record *r, enum quota_limit limit, struct error *err)
{
	enum quota_scope scope = quota_scope_find(r->scope);
	const struct quota_day takes = {r->subject, quota_day(look->admission->now)};
	struct quota_sum sum = {0};

	if (scope == QUOTA_SCOPE_COUNT)
		return 0;
	if (query_find(c, egress_queries[scope], &takes, INTO(&look->arena, &sum), err) < 0)
		return -1;
	return quota_egress_mb(sum.bytes) < r->value
	               ? 0
	               : refuse_by_quota(look, r, limit, quota_egress_mb(sum.bytes), err);
}

static int check_quota(struct store_connection *c, struct quota_look *look,
                       const struct quota_record *r, struct error *err)
{
	enum quota_limit limit = quota_limit_find(r->name);

	/* A newer server may know more limits. */
	if (limit == QUOTA_LIMIT_COUNT ||
	    !(quota_limits[limit].checked_by >> look->admission->event & 1))
		return 0;
	switch (quota_limits[limit].kind) {
	case QUOTA_AMOUNT:
		return check_amount(c, look, r, limit, err);
	case QUOTA_WINDOW:
		return check_window(c, look, r, limit, err);
	case QUOTA_DAY:
		return check_day(c, look, r, limit, err);
	case QUOTA_RATE:
		break;
	}
	return 0;
}

int quota_run_admit(struct store_connection *c, const struct quota_admission *admission,
                    struct error *err)
{
	const struct quota_caller caller = {admission->project_id, admission->key_id};
	struct quota_look look = {.admission = admission};
	struct quota_list list = {.count = 0};
	int result = query_list(c, QUERY_QUOTA_LIST_APPLYING, &caller,
	                        LIST_INTO(&look.arena, &list), err);

	for (size_t i = 0; result == 0 && i < list.count; i++)
		result = check_quota(c, &look, &list.items[i], err);
	arena_done(&look.arena);
	return result;
}
