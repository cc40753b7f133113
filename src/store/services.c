/* SPDX-License-Identifier: Apache-2.0 */
#include "store/services.h"

#include <string.h>

#include "store/column_rows.h"
#include "store/query.h"

NAMES_OF(service_restart, SERVICE_RESTART_COUNT, [SERVICE_RESTART_ALWAYS] = "always",
         [SERVICE_RESTART_ON_FAILURE] = "on-failure", [SERVICE_RESTART_NO] = "no")
TEXTS_OF(service_wish, SERVICE_WISH_COUNT, [SERVICE_RUNNING] = "running",
         [SERVICE_STOPPED] = "stopped", [SERVICE_REMOVED] = "removed")

COLUMNS_OF(service_record);
COLUMNS_OF(service_ref);
COLUMNS_OF(service_change);

struct putting {
	struct arena *arena;
	const struct service_record *wanted;
	unsigned max;
	struct service_record *ret;
};

static bool is_alike(const struct service_record *is, const struct service_record *wanted)
{
	return is->wish == wanted->wish && is->restart == wanted->restart &&
	       is->keeps_awake == wanted->keeps_awake && is->failures_max == wanted->failures_max &&
	       is->delay_ms == wanted->delay_ms && is->stop_ms == wanted->stop_ms &&
	       strcmp(is->command, wanted->command) == 0 &&
	       strcmp(is->args_json, wanted->args_json) == 0 && strcmp(is->cwd, wanted->cwd) == 0 &&
	       strcmp(is->run_as, wanted->run_as) == 0 &&
	       strcmp(is->env_json, wanted->env_json) == 0;
}

static int run_insert(struct store_connection *c, struct putting *p, const struct service_ref *ref,
                      struct error *err)
{
	int64_t count;

	if (query_count(c, QUERY_SERVICE_COUNT, ref, &count, err) < 0)
		return -1;
	if (count >= p->max)
		return FAIL(err, ERROR_LIMIT, "the sandbox has %u services already", p->max);
	*p->ret = *p->wanted;
	p->ret->generation = 1;
	p->ret->is_told = false;
	return query_run(c, QUERY_SERVICE_INSERT, p->ret, NULL, err) < 0 ? -1 : 0;
}

static int run_put(struct store_connection *c, void *context, struct error *err)
{
	struct putting *p = context;
	const struct service_ref ref = {p->wanted->sandbox_id, p->wanted->name};
	struct service_record is;
	int count = query_find(c, QUERY_SERVICE_FIND, &ref, INTO(p->arena, &is), err);

	if (count < 0)
		return -1;
	if (count == 0)
		return run_insert(c, p, &ref, err);
	if (is.wish == SERVICE_REMOVED)
		return FAIL(err, ERROR_CONFLICT, "service '%s' is being removed", is.name);
	if (is_alike(&is, p->wanted)) {
		*p->ret = is;
		return 0;
	}
	*p->ret = *p->wanted;
	p->ret->id = is.id;
	p->ret->generation = is.generation + 1;
	p->ret->created_at = is.created_at;
	p->ret->is_told = false;
	return query_run(c, QUERY_SERVICE_UPDATE, p->ret, NULL, err) < 0 ? -1 : 0;
}

int store_service_put(struct store *s, struct arena *a, const struct service_record *r,
                      unsigned max, struct service_record *ret, struct error *err)
{
	struct putting putting = {a, r, max, ret};

	return store_change(s, run_put, &putting, err);
}

static int not_found(const char *name, struct error *err)
{
	return FAIL_MISSING(err, "service", name);
}

struct wishing {
	struct arena *arena;
	const struct service_change *change;
	struct service_record *ret;
};

static int run_wish(struct store_connection *c, void *context, struct error *err)
{
	const struct wishing *w = context;
	const struct service_ref ref = {w->change->sandbox_id, w->change->name};

	if (ROW_OR(query_run(c, QUERY_SERVICE_CHANGE, w->change, NULL, err),
	           not_found(ref.name, err)) < 0)
		return -1;
	return ROW_OR(query_find(c, QUERY_SERVICE_FIND, &ref, INTO(w->arena, w->ret), err),
	              not_found(ref.name, err));
}

int store_service_wish(struct store *s, struct arena *a, const struct service_change *change,
                       struct service_record *ret, struct error *err)
{
	struct wishing wishing = {a, change, ret};

	return store_change(s, run_wish, &wishing, err);
}

int store_service_told(struct store *s, const struct service_record *r, struct error *err)
{
	return store_change_query(s, QUERY_SERVICE_TOLD, r, err) < 0 ? -1 : 0;
}

int store_service_remove(struct store *s, const struct service_record *r, struct error *err)
{
	return store_change_query(s, QUERY_SERVICE_REMOVE, r, err) < 0 ? -1 : 0;
}

int store_services_clear(struct store *s, const char *sandbox_id, struct error *err)
{
	const struct service_ref ref = {.sandbox_id = sandbox_id};

	return store_change_query(s, QUERY_SERVICES_CLEAR, &ref, err) < 0 ? -1 : 0;
}

int store_service_find(struct store *s, struct arena *a, const struct service_ref *ref,
                       struct service_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_SERVICE_FIND, ref, INTO(a, ret), err),
	              not_found(ref->name, err));
}

int store_service_list(struct store *s, struct arena *a, const char *sandbox_id,
                       struct service_list *ret, struct error *err)
{
	const struct service_ref ref = {.sandbox_id = sandbox_id};

	return store_list_query(s, QUERY_SERVICE_LIST, &ref, LIST_INTO(a, ret), err);
}

int store_services_to_tell(struct store *s, struct arena *a, const char *node,
                           struct service_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SERVICES_TO_TELL, LOOKUP(.id = node), LIST_INTO(a, ret),
	                        err);
}
