/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sandboxes.h"

#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/id.h"
#include "sandbox/events.h"
#include "store/driver.h"
#include "store/egress.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"

static void add_touch(struct store *s, struct sandbox_record *r)
{
	r->last_activity_at =
	        touches_latest(s->touches, TOUCHED_SANDBOX, r->id, r->last_activity_at);
}

/* ---- insert ---- */

/* Living states: neither failed nor being deleted. They hold the name and count against the
 * project. */
static const bool is_living[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = true,  [SANDBOX_CREATING] = true, [SANDBOX_STARTED] = true,
        [SANDBOX_PAUSED] = true,   [SANDBOX_STOPPING] = true, [SANDBOX_STOPPED] = true,
        [SANDBOX_ARCHIVED] = true,
};

/* Fills err with why the project accepts no sandbox. Always -1. */
static int refuse_admission(struct store_connection *c, struct sandbox_insertion *insertion,
                            struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *project_id = insertion->record->project_id;
	struct rows rows = {.arena = &arena, .size = sizeof(struct project_record)};
	struct project_record project = {0};

	if (query_find(c, QUERY_PROJECT_FIND, &(struct record_lookup){.id = project_id}, &rows,
	               &project, err) < 0)
		return -1;
	if (project.closing)
		return FAIL(err, ERROR_CONFLICT, "project '%s' is being deleted", project_id);
	if (insertion->project_version && project.version != insertion->project_version) {
		insertion->is_outdated = true;
		return FAIL(err, ERROR_CONFLICT, "project '%s' was changed meanwhile", project_id);
	}
	error_set(err, ERROR_LIMIT, 0, HERE, "the project has %u sandboxes already",
	          insertion->project_max);
	error_hint(err, "delete one, or raise sandboxes_max");
	return -1;
}

static int admit_sandbox(struct store_connection *c, struct sandbox_insertion *insertion,
                         struct error *err)
{
	const struct project_admission admission = {.project_id = insertion->record->project_id,
	                                            .living_max = insertion->project_max,
	                                            .version = insertion->project_version};
	int count = query_run(c, QUERY_PROJECT_ADMIT, &admission, NULL, err);

	if (count != 0)
		return count < 0 ? -1 : 0;
	return refuse_admission(c, insertion, err);
}

static int check_template(struct store_connection *c, const struct sandbox_record *r,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct template_seen)};
	int count = query_run(c, QUERY_TEMPLATE_STATE,
	                      &(struct record_lookup){.id = r->template_id}, &rows, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "template '%s' is gone", r->template_name);
	return count < 0 ? -1 : 0;
}

/* Inserts what belongs to the row, in the same transaction. */
static int insert_along(struct store_connection *c, const struct sandbox_insertion *insertion,
                        struct error *err)
{
	const struct sandbox_record *r = insertion->record;

	if (insertion->mounts && mounts_run(c, insertion->mounts, err) < 0)
		return -1;
	return insertion->origin ? snapshot_run_origin(c, r->id, insertion->origin, err) : 0;
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_insertion *insertion = context;
	const struct sandbox_record *r = insertion->record;
	const struct event_record event = {.at = r->created_at,
	                                   .project_id = r->project_id,
	                                   .sandbox_id = r->id,
	                                   .kind = event_kind_name(EVENT_SANDBOX_CREATED),
	                                   .text = r->last_event};
	int count;

	/* A transaction may be run more than once. */
	insertion->is_outdated = insertion->is_claim_lost = false;
	if (insertion->claim &&
	    lease_run_claim(c, insertion->claim, &insertion->is_claim_lost, err) < 0)
		return -1;
	if (check_template(c, r, err) < 0)
		return -1;
	count = query_run(c, QUERY_SANDBOX_INSERT, r, NULL, err);
	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "a sandbox named '%s' exists already", r->name);
	if (count < 0 || (is_living[r->actual] && admit_sandbox(c, insertion, err) < 0) ||
	    insert_along(c, insertion, err) < 0 || event_add(c, &event, err) < 0)
		return -1;
	if (insertion->on_accepted)
		insertion->on_accepted(insertion->context);
	return 0;
}

int store_sandbox_insert_with(struct store *s, struct sandbox_insertion *insertion,
                              struct error *err)
{
	/* Lazy for CREATING: no caller has been answered yet; the caller that makes a durable
	 * sandbox waits for the disk before it answers. When a crash loses the row, the orphan
	 * sweep removes the rest. */
	bool is_lazy = insertion->record->actual == SANDBOX_CREATING;

	return store_change(s,
	                    &(struct transaction){
	                            .run = run_insertion, .context = insertion, .is_lazy = is_lazy},
	                    err);
}

int store_sandbox_insert(struct store *s, const struct sandbox_record *r, unsigned project_max,
                         struct error *err)
{
	return store_sandbox_insert_with(
	        s, &(struct sandbox_insertion){.record = r, .project_max = project_max}, err);
}

/* ---- find and list ---- */

struct sandbox_lookup_run {
	struct record_lookup lookup;
	struct rows rows;
	struct sandbox_record *ret;
};

static int run_search(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_lookup_run *search = context;
	int found = 0;

	if (id_is_valid(search->lookup.id))
		found = query_find(c, QUERY_SANDBOX_FIND_BY_ID, &search->lookup, &search->rows,
		                   search->ret, err);
	if (found == 0 && search->lookup.project_id)
		found = query_find(c, QUERY_SANDBOX_FIND_BY_NAME, &search->lookup, &search->rows,
		                   search->ret, err);
	if (found == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no sandbox '%s'", search->lookup.id);
	return found < 0 ? -1 : 0;
}

int store_sandbox_find(struct store *s, struct arena *a, const char *project_id,
                       const char *id_or_name, struct sandbox_record *ret, struct error *err)
{
	struct sandbox_lookup_run search = {
	        .lookup = {.project_id = project_id, .id = id_or_name},
	        .rows = {.arena = a, .size = sizeof(*ret)},
	        .ret = ret,
	};

	if (store_read(s, &(struct transaction){.run = run_search, .context = &search}, err) < 0)
		return -1;
	add_touch(s, ret);
	return 0;
}

static int refuse_several(const struct rows *projects, const char *name, struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(512);
	const struct project_ref *refs = projects->items;

	for (size_t i = 0; i < projects->count; i++)
		buf_addf(&names, "%s%s", i > 0 ? ", " : "", refs[i].id);
	(void)FAIL(err, ERROR_CONFLICT, "several projects have a sandbox '%s'", name);
	error_hint(err, "name one in X-Atoll-Project (%s), or the sandbox by its id",
	           buf_text(&names));
	return -1;
}

static int run_search_anywhere(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_lookup_run *search = context;
	const char *name = search->lookup.id;
	struct rows projects = {.arena = search->rows.arena, .size = sizeof(struct project_ref)};
	int found = query_run(c, QUERY_SANDBOX_PROJECTS_WITH_NAME, &search->lookup, &projects, err);

	if (found > 1)
		return refuse_several(&projects, name, err);
	if (found == 1) {
		const struct project_ref *project = projects.items;

		found = query_find(c, QUERY_SANDBOX_FIND_BY_NAME,
		                   &(struct record_lookup){.project_id = project->id, .id = name},
		                   &search->rows, search->ret, err);
	}
	if (found == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no sandbox '%s' in any project", name);
	return found < 0 ? -1 : 0;
}

int store_sandbox_find_anywhere(struct store *s, struct arena *a, const char *name,
                                struct sandbox_record *ret, struct error *err)
{
	struct sandbox_lookup_run search = {
	        .lookup = {.id = name},
	        .rows = {.arena = a, .size = sizeof(*ret)},
	        .ret = ret,
	};

	return store_read(s, &(struct transaction){.run = run_search_anywhere, .context = &search},
	                  err);
}

static int run_search_ended(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_lookup_run *search = context;
	int found = query_find(c, QUERY_SANDBOX_FIND_ENDED, &search->lookup, &search->rows,
	                       search->ret, err);

	if (found == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no sandbox '%s'", search->lookup.id);
	return found < 0 ? -1 : 0;
}

int store_sandbox_find_ended(struct store *s, struct arena *a, const char *project_id,
                             const char *id, struct sandbox_record *ret, struct error *err)
{
	struct sandbox_lookup_run search = {
	        .lookup = {.project_id = project_id, .id = id},
	        .rows = {.arena = a, .size = sizeof(*ret)},
	        .ret = ret,
	};

	return store_read(s, &(struct transaction){.run = run_search_ended, .context = &search},
	                  err);
}

int store_sandbox_owners(struct store *s, struct arena *a, const char *project_id,
                         const char *ids_json, struct sandbox_owner_list *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = ids_json};
	struct rows rows = {.arena = a, .size = sizeof(struct sandbox_owner)};

	if (store_read_query(s, QUERY_SANDBOX_LIST_OWNERS, &lookup, &rows, err) < 0)
		return -1;
	*ret = (struct sandbox_owner_list){rows.items, rows.count};
	return 0;
}

static enum query_name list_query(const struct sandbox_filter *filter)
{
	if (!filter->project_id)
		return QUERY_SANDBOX_LIST_ALL;
	return filter->oldest_first ? QUERY_SANDBOX_LIST_OLDEST : QUERY_SANDBOX_LIST;
}

int store_sandbox_list(struct store *s, struct arena *a, const struct sandbox_filter *filter,
                       struct sandbox_list *ret, struct error *err)
{
	enum query_name query = list_query(filter);
	unsigned limit = list_limit(filter->limit);
	struct rows rows = {.arena = a, .size = sizeof(struct sandbox_record)};
	struct sandbox_page page = {
	        .project_id = filter->project_id,
	        .state = filter->state < 0 ? NULL
	                                   : sandbox_state_name((enum sandbox_state)filter->state),
	        .name = filter->name,
	        .node = filter->node,
	        .template = filter->template,
	        .label_key = filter->label_key,
	        .label_value = filter->label_value,
	        .limit = (int64_t)limit + 1, /* one more tells whether there is more */
	};

	if (page_parse(filter->page, &page.page_at, &page.page_id, err) < 0)
		return -1;
	if (query == QUERY_SANDBOX_LIST_OLDEST && !filter->page)
		page.page_at = 0;
	if (store_read_query(s, query, &page, &rows, err) < 0)
		return -1;
	*ret = (struct sandbox_list){.items = rows.items, .count = rows.count};
	if (ret->count > limit) {
		const struct sandbox_record *last = &ret->items[limit - 1];

		ret->count = limit;
		ret->next_page = page_format(a, last->created_at, last->id);
	}
	for (size_t i = 0; i < ret->count; i++)
		add_touch(s, &ret->items[i]);
	return 0;
}

/* ---- moves ---- */

static const bool is_resting[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = true,  [SANDBOX_PAUSED] = true,  [SANDBOX_STOPPED] = true,
        [SANDBOX_ARCHIVED] = true, [SANDBOX_DELETED] = true, [SANDBOX_FAILED] = true,
};

struct move_change {
	struct sandbox_transition takes;
	struct rows rows;
	const struct lease_record *lease; /* NULL = none */
	const struct mount_list *mounts;  /* NULL = those that it has */
	unsigned project_max;
	bool is_lease_lost;
};

/* Fills err with why the compare-and-set matched no row. Always -1. */
static int refuse_change(struct store_connection *c, const struct sandbox_transition *takes,
                         struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct sandbox_seen)};
	struct sandbox_seen seen;
	int found = query_find(c, QUERY_SANDBOX_STATE, &(struct record_lookup){.id = takes->id},
	                       &rows, &seen, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no sandbox '%s'", takes->id);
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s, not %s", takes->id,
	            sandbox_state_name(seen.actual), sandbox_state_name(takes->from));
}

/* Releases its place in the project when it stops being living. */
static int let_go(struct store_connection *c, const struct move_change *change, struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	const struct sandbox_record *r = change->rows.items;
	const struct project_admission admission = {.project_id = r->project_id};

	if (!is_living[takes->from] || is_living[takes->to])
		return 0;
	return query_run(c, QUERY_PROJECT_RELEASE, &admission, NULL, err) < 0 ? -1 : 0;
}

/* Takes a place in the project when a deleted sandbox is restored. */
static int take_place(struct store_connection *c, const struct move_change *change,
                      struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	const struct sandbox_record *r = change->rows.items;
	struct sandbox_insertion back = {.record = r, .project_max = change->project_max};

	if (is_living[takes->from] || !is_living[takes->to])
		return 0;
	return admit_sandbox(c, &back, err);
}

/* While it was archived, its backup was metered instead of its files. */
static int restart_holding(struct store_connection *c, const struct sandbox_transition *takes,
                           struct error *err)
{
	const struct record_lookup lookup = {.id = takes->id, .now = takes->now};

	if (takes->from != SANDBOX_ARCHIVED || takes->to != SANDBOX_CREATING)
		return 0;
	return query_run(c, QUERY_HOLDING_RESTART, &lookup, NULL, err) < 0 ? -1 : 0;
}

static int tell_move(struct store_connection *c, const struct move_change *change,
                     struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	const struct sandbox_record *r = change->rows.items;
	const struct event_record event = {
	        .at = takes->now,
	        .project_id = r->project_id,
	        .sandbox_id = r->id,
	        .kind = event_kind_name(event_kind_of_move(takes->from, takes->to)),
	        .reason = r->reason == SANDBOX_REASON_NONE ? "" : sandbox_reason_name(r->reason),
	        .text = takes->event,
	};

	return event_add(c, &event, err);
}

static int run_move(struct store_connection *c, void *context, struct error *err)
{
	struct move_change *change = context;
	const struct sandbox_transition *takes = &change->takes;

	change->rows.count = 0;
	if (query_run(c, QUERY_SANDBOX_MOVE, takes, &change->rows, err) < 0)
		return -1;
	if (change->rows.count == 0)
		return refuse_change(c, takes, err);
	if (let_go(c, change, err) < 0 || take_place(c, change, err) < 0 ||
	    restart_holding(c, takes, err) < 0 || tell_move(c, change, err) < 0 ||
	    (change->mounts && mounts_run_anew(c, takes->id, change->mounts, err) < 0))
		return -1;
	return change->lease ? lease_run_finish(c, change->lease, &change->is_lease_lost, err) : 0;
}

int store_sandbox_move_read(struct store *s, struct arena *a, const struct sandbox_move *move,
                            struct sandbox_record *ret, struct error *err)
{
	struct move_change change = {
	        .takes = {.id = move->id,
	                  .from = move->from,
	                  .to = move->to,
	                  .desired = move->desired < 0 ? NULL
	                                               : sandbox_state_name(
	                                                         (enum sandbox_state)move->desired),
	                  .reason = move->reason,
	                  .event = move->event,
	                  .now = move->now,
	                  .traits_left = ~(int64_t)move->traits_lost,
	                  .traits_gained = move->traits_gained,
	                  .is_measured = move->effective != NULL,
	                  .disk_is_advisory = move->disk_is_advisory},
	        .rows = {.arena = a, .size = sizeof(*ret)},
	        .lease = move->lease,
	        .mounts = move->mounts,
	        .project_max = move->project_max,
	};

	assert(sandbox_state_can_move(move->from, move->to));
	if (move->effective)
		change.takes.resources = *move->effective;
	if (store_change(s,
	                 &(struct transaction){.run = run_move,
	                                       .context = &change,
	                                       .is_lazy = move->is_lazy || !is_resting[move->to]},
	                 err) < 0)
		return -1;
	*ret = *(struct sandbox_record *)change.rows.items;
	add_touch(s, ret);
	if (move->ret_lease_lost)
		*move->ret_lease_lost = change.is_lease_lost;
	return 0;
}

int store_sandbox_move(struct store *s, const struct sandbox_move *move, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record moved;

	return store_sandbox_move_read(s, &arena, move, &moved, err);
}

static int run_want(struct store_connection *c, void *context, struct error *err)
{
	const struct sandbox_transition *takes = context;
	int count = query_run(c, QUERY_SANDBOX_WANT, takes, NULL, err);

	if (count == 0)
		return refuse_change(c, takes, err);
	return count < 0 ? -1 : 0;
}

int store_sandbox_set_desired(struct store *s, const char *id, enum sandbox_state actual,
                              enum sandbox_state desired, struct error *err)
{
	struct sandbox_transition takes = {
	        .id = id, .from = actual, .desired = sandbox_state_name(desired)};

	return store_change(s, &(struct transaction){.run = run_want, .context = &takes}, err);
}

/* ---- the rest ---- */

void store_sandbox_touch(struct store *s, const char *id, int64_t now)
{
	touches_add(s->touches, TOUCHED_SANDBOX, id, now);
}

int store_sandbox_keep_files(struct store *s, const char *id, struct error *err)
{
	const struct record_lookup lookup = {.id = id};

	return store_change_query(s, QUERY_SANDBOX_KEEP_FILES, &lookup, err) < 0 ? -1 : 0;
}

/* A change that gives the row. */
struct sandbox_update {
	enum query_name query;
	const void *takes;
	const char *id;
	struct rows rows;
	const char *told; /* what changed, for the event; NULL = no event */
};

static int tell_update(struct store_connection *c, const struct sandbox_update *updating,
                       struct error *err)
{
	const struct sandbox_record *r = updating->rows.items;
	const struct sandbox_resources *is = &r->resources;
	bool is_resized = updating->query == QUERY_SANDBOX_SET_RESOURCES;
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->id,
	        .kind = event_kind_name(is_resized ? EVENT_SANDBOX_RESIZED : EVENT_SANDBOX_UPDATED),
	        .text = updating->told,
	};

	if (is_resized)
		event.detail = arena_format(updating->rows.arena,
		                            "{\"cpu\":%g,\"memory_mb\":%" PRId64
		                            ",\"disk_mb\":%" PRId64 ",\"pids\":%" PRId64 "}",
		                            is->cpu, is->memory_mb, is->disk_mb, is->pids);
	return event_add(c, &event, err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	struct sandbox_update *updating = context;

	updating->rows.count = 0;
	if (query_run(c, updating->query, updating->takes, &updating->rows, err) < 0)
		return -1;
	if (updating->rows.count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no sandbox '%s'", updating->id);
	return updating->told ? tell_update(c, updating, err) : 0;
}

static int update_sandbox(struct store *s, struct sandbox_update *updating, bool is_lazy,
                          struct sandbox_record *ret, struct error *err)
{
	const struct transaction transaction = {
	        .run = run_update, .context = updating, .is_lazy = is_lazy};

	updating->rows.size = sizeof(*ret);
	if (store_change(s, &transaction, err) < 0)
		return -1;
	*ret = *(struct sandbox_record *)updating->rows.items;
	add_touch(s, ret);
	return 0;
}

int store_sandbox_keep(struct store *s, struct arena *a, const struct sandbox_keep *keep,
                       struct sandbox_record *ret, struct error *err)
{
	const struct touch takes = {.id = keep->id, .at = keep->until};
	struct sandbox_update updating = {QUERY_SANDBOX_KEEP, &takes, keep->id, {.arena = a}};

	return update_sandbox(s, &updating, true, ret, err);
}

int store_sandbox_set_timeout(struct store *s, struct arena *a, const char *id, int64_t timeout_at,
                              struct sandbox_record *ret, struct error *err)
{
	const struct touch takes = {.id = id, .at = timeout_at};
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET_TIMEOUT, &takes, takes.id, {.arena = a}};

	return update_sandbox(s, &updating, true, ret, err);
}

int store_sandbox_set_preview(struct store *s, struct arena *a,
                              const struct sandbox_preview *preview, struct sandbox_record *ret,
                              struct error *err)
{
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET_PREVIEW, preview, preview->id, {.arena = a}, "preview"};

	return update_sandbox(s, &updating, false, ret, err);
}

int store_sandbox_set_egress(struct store *s, struct arena *a,
                             const struct sandbox_egress_change *change, struct sandbox_record *ret,
                             struct error *err)
{
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET_EGRESS, change, change->id, {.arena = a}, "egress"};

	return update_sandbox(s, &updating, false, ret, err);
}

int store_sandbox_set(struct store *s, struct arena *a, const struct sandbox_settings *settings,
                      struct sandbox_record *ret, struct error *err)
{
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET, settings, settings->id, {.arena = a}, "settings"};

	return update_sandbox(s, &updating, false, ret, err);
}

int store_sandbox_set_resources(struct store *s, struct arena *a,
                                const struct sandbox_revision *change, struct sandbox_record *ret,
                                struct error *err)
{
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET_RESOURCES, change, change->id, {.arena = a}, "limits"};

	if (change->is_quiet)
		updating.told = NULL;
	return update_sandbox(s, &updating, false, ret, err);
}

int store_sandbox_set_env(struct store *s, struct arena *a, const struct sandbox_revision *change,
                          struct sandbox_record *ret, struct error *err)
{
	struct sandbox_update updating = {
	        QUERY_SANDBOX_SET_ENV, change, change->id, {.arena = a}, "environment"};

	return update_sandbox(s, &updating, false, ret, err);
}

int store_sandbox_count(struct store *s, uint64_t ret_by_state[SANDBOX_STATE_COUNT],
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct sandbox_tally)};
	const struct sandbox_tally *tallies;

	if (store_read_query(s, QUERY_SANDBOX_TALLY, NULL, &rows, err) < 0)
		return -1;
	tallies = rows.items;
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		ret_by_state[i] = 0;
	for (size_t i = 0; i < rows.count; i++)
		ret_by_state[tallies[i].actual] = (uint64_t)tallies[i].count;
	return 0;
}

int store_sandbox_adopt(struct store *s, const char *node, struct error *err)
{
	const struct record_lookup lookup = {.id = node};

	return store_change_query(s, QUERY_SANDBOX_ADOPT, &lookup, err) < 0 ? -1 : 0;
}

int store_sandbox_purge(struct store *s, int64_t before, struct error *err)
{
	const struct record_lookup lookup = {.now = before};

	return store_change_query(s, QUERY_SANDBOX_PURGE, &lookup, err) < 0 ? -1 : 0;
}
