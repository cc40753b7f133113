/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a sandbox's settings, limits, environment, preview and egress. */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "json/write.h"
#include "sandbox/egress.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/quotas.h"
#include "store/sandboxes.h"
#include "store/touches.h"
#include "store/transaction_parts.h"

COLUMNS_OF(sandbox_preview);
COLUMNS_OF(sandbox_settings);
COLUMNS_OF(sandbox_revision);
COLUMNS_OF(sandbox_egress_change);
COLUMNS_OF(sandbox_egress_cut);
COLUMNS_OF(sandbox_provider_change);

/* A change that gives the row. */
struct sandbox_update {
	enum query_name query;
	const void *takes;
	const char *id;
	struct arena *arena;
	const char *told; /* what changed, for the event; NULL = no event */
	bool is_lazy;
	struct sandbox_record row;
};

static const char *describe_resources(struct arena *a, const struct sandbox_resources *r)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	json_begin_object(&out, NULL);
	json_add_number(&out, "cpu", r->cpu);
	json_add_whole(&out, "memory_mb", r->memory_mb);
	json_add_whole(&out, "disk_mb", r->disk_mb);
	json_add_whole(&out, "pids", r->pids);
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

static enum event_kind kind_of_update(const struct sandbox_update *updating)
{
	if (updating->query == QUERY_SANDBOX_SET_RESOURCES)
		return EVENT_SANDBOX_RESIZED;
	if (updating->query == QUERY_SANDBOX_SET_EGRESS_CUT)
		return *updating->row.egress_cut ? EVENT_SANDBOX_CUT_OFF
		                                 : EVENT_SANDBOX_RECONNECTED;
	return EVENT_SANDBOX_UPDATED;
}

static int tell_update(struct store_connection *c, const struct sandbox_update *updating,
                       struct error *err)
{
	const struct sandbox_record *r = &updating->row;
	const struct sandbox_resources *is = &r->resources;
	bool is_resized = updating->query == QUERY_SANDBOX_SET_RESOURCES;
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->id,
	        .kind = event_kind_name(kind_of_update(updating)),
	        .text = updating->told,
	};

	if (is_resized)
		event.detail = describe_resources(updating->arena, is);
	return event_add(c, &event, err);
}

/* Settings are refused for more reasons than a missing row. */
static int explain_refusal(struct store_connection *c, struct sandbox_update *updating,
                           struct error *err)
{
	const struct sandbox_settings *s = updating->takes;
	struct sandbox_record now;

	if (ROW_OR(query_find(c, QUERY_SANDBOX_FIND_BY_ID, LOOKUP(.id = updating->id),
	                      INTO(updating->arena, &now), err),
	           FAIL_MISSING(err, "sandbox", updating->id)) < 0)
		return -1;
	if (s->version != 0 && s->version != now.version) {
		(void)FAIL(err, ERROR_CONFLICT,
		           "sandbox '%s' has version %" PRId64 ", not %" PRId64, now.name,
		           now.version, s->version);
		return FAIL_HINT(err, "read it again, and repeat the change if it is still wanted");
	}
	return FAIL(err, ERROR_CONFLICT, "a sandbox '%s' exists already", s->name);
}

/* What new limits add to the use of quotas. A stopped sandbox uses no CPU and no memory. */
static int check_growth(struct store_connection *c, const struct sandbox_record *was,
                        const struct sandbox_record *is, struct error *err)
{
	bool runs = is->actual != SANDBOX_STOPPED && is->actual != SANDBOX_ARCHIVED;
	const struct quota_admission admission = {
	        .project_id = is->project_id,
	        .key_id = is->key_id,
	        .own = {.cpu = runs ? is->resources.cpu - was->resources.cpu : 0,
	                .memory_mb = runs ? is->resources.memory_mb - was->resources.memory_mb : 0,
	                .disk_mb = is->resources.disk_mb - was->resources.disk_mb},
	        .now = clock_unix_ms(),
	        .event = QUOTA_ON_RESIZE,
	};

	return quota_run_admit(c, &admission, err);
}

static int run_resize(struct store_connection *c, struct sandbox_update *updating,
                      struct error *err)
{
	struct sandbox_record was;

	if (ROW_OR(query_find(c, QUERY_SANDBOX_FIND_BY_ID, LOOKUP(.id = updating->id),
	                      INTO(updating->arena, &was), err),
	           FAIL_MISSING(err, "sandbox", updating->id)) < 0 ||
	    ROW_OR(query_find(c, updating->query, updating->takes,
	                      INTO(updating->arena, &updating->row), err),
	           FAIL_MISSING(err, "sandbox", updating->id)) < 0 ||
	    check_growth(c, &was, &updating->row, err) < 0)
		return -1;
	return updating->told ? tell_update(c, updating, err) : 0;
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_update *updating = context;

	if (updating->query == QUERY_SANDBOX_SET_RESOURCES)
		return run_resize(c, updating, err);
	int found = query_find(c, updating->query, updating->takes,
	                       INTO(updating->arena, &updating->row), err);

	if (found == 0 && updating->query == QUERY_SANDBOX_SET)
		return explain_refusal(c, updating, err);
	if (ROW_OR(found, FAIL_MISSING(err, "sandbox", updating->id)) < 0)
		return -1;
	return updating->told ? tell_update(c, updating, err) : 0;
}

static int update_sandbox(struct store *s, struct sandbox_update *updating,
                          struct sandbox_record *ret, struct error *err)
{
	const struct transaction update = {run_update, updating, updating->is_lazy};

	if (store_transact(s, &update, err) < 0)
		return -1;
	*ret = updating->row;
	ret->last_activity_at = touches_latest(s, TOUCHED_SANDBOX, ret->id, ret->last_activity_at);
	return 0;
}

int store_sandbox_keep(struct store *s, struct arena *a, const struct sandbox_keep *keep,
                       struct sandbox_record *ret, struct error *err)
{
	const struct touch takes = {.id = keep->id, .at = keep->until};
	struct sandbox_update updating = {QUERY_SANDBOX_KEEP, &takes, keep->id, a, .is_lazy = true};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_timeout(struct store *s, struct arena *a, const char *id, int64_t timeout_at,
                              struct sandbox_record *ret, struct error *err)
{
	const struct touch takes = {.id = id, .at = timeout_at};
	struct sandbox_update updating = {QUERY_SANDBOX_SET_TIMEOUT, &takes, id, a,
	                                  .is_lazy = true};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_preview(struct store *s, struct arena *a,
                              const struct sandbox_preview *preview, struct sandbox_record *ret,
                              struct error *err)
{
	struct sandbox_update updating = {QUERY_SANDBOX_SET_PREVIEW, preview, preview->id, a,
	                                  "preview"};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_egress(struct store *s, struct arena *a,
                             const struct sandbox_egress_change *change, struct sandbox_record *ret,
                             struct error *err)
{
	struct sandbox_update updating = {QUERY_SANDBOX_SET_EGRESS, change, change->id, a,
	                                  "egress"};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_egress_cut(struct store *s, struct arena *a,
                                 const struct sandbox_egress_cut *change,
                                 struct sandbox_record *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(512);
	struct sandbox_update updating = {QUERY_SANDBOX_SET_EGRESS_CUT, change, change->id, a,
	                                  "the network is back"};

	if (*change->cut) {
		egress_cut_describe(&text, span_of(change->cut));
		updating.told = buf_text(&text);
	}
	return update_sandbox(s, &updating, ret, err);
}

struct provider_change_run {
	const struct sandbox_provider_change *change;
	struct arena *arena;
	struct sandbox_record *ret;
};

static int run_provider_change(struct store_connection *c, void *context, struct error *err)
{
	const struct provider_change_run *changing = context;
	const struct sandbox_provider_change *change = changing->change;

	if (change->is_stored && provider_run_lock(c, change->provider, err) < 0)
		return -1;
	return ROW_OR(
	        query_find(c, QUERY_SANDBOX_SET_PROVIDER, change,
	                   INTO(changing->arena, changing->ret), err),
	        FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' is not being made any more", change->id));
}

int store_sandbox_set_provider(struct store *s, struct arena *a,
                               const struct sandbox_provider_change *change,
                               struct sandbox_record *ret, struct error *err)
{
	const struct provider_change_run changing = {change, a, ret};

	return store_change_lazily(s, run_provider_change, &changing, err);
}

int store_sandbox_set(struct store *s, struct arena *a, const struct sandbox_settings *settings,
                      struct sandbox_record *ret, struct error *err)
{
	struct sandbox_update updating = {QUERY_SANDBOX_SET, settings, settings->id, a, "settings"};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_resources(struct store *s, struct arena *a,
                                const struct sandbox_revision *change, struct sandbox_record *ret,
                                struct error *err)
{
	struct sandbox_update updating = {QUERY_SANDBOX_SET_RESOURCES, change, change->id, a,
	                                  change->is_quiet ? NULL : "limits"};

	return update_sandbox(s, &updating, ret, err);
}

int store_sandbox_set_env(struct store *s, struct arena *a, const struct sandbox_revision *change,
                          struct sandbox_record *ret, struct error *err)
{
	struct sandbox_update updating = {QUERY_SANDBOX_SET_ENV, change, change->id, a,
	                                  "environment"};

	return update_sandbox(s, &updating, ret, err);
}
