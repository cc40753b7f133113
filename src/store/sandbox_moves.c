/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts sandboxes and moves them between states; a move is a compare-and-set. */
#include <assert.h>

#include "base/clock.h"
#include "store/column_rows.h"
#include "store/sandboxes.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"
#include "store/projects.h"
#include "store/touches.h"

WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)
WORDS_OF(sandbox_reason, SANDBOX_REASON_COUNT)

struct sandbox_seen {
	enum sandbox_state actual;
};

COLUMNS_OF(sandbox_seen);

struct sandbox_transition {
	const char *id;
	enum sandbox_state from, to;
	const char *desired; /* NULL = unchanged */
	enum sandbox_reason reason;
	const char *event;
	int64_t now;
	int64_t traits_left, traits_gained; /* masks of bits to keep and bits to add */
	bool is_measured;
	struct sandbox_resources resources;
	bool disk_is_advisory;
};

COLUMNS_OF(sandbox_transition);

static const bool is_resting[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = true,  [SANDBOX_PAUSED] = true,  [SANDBOX_STOPPED] = true,
        [SANDBOX_ARCHIVED] = true, [SANDBOX_DELETED] = true, [SANDBOX_FAILED] = true,
};

struct project_admission {
	const char *project_id;
	int64_t living_max; /* 0 = no limit */
	int64_t version;    /* version of the project's row; 0 = any */
};

COLUMNS_OF(project_admission);

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
	struct project_record project = {0};

	if (query_find(c, QUERY_PROJECT_FIND, LOOKUP(.id = project_id), INTO(&arena, &project),
	               err) < 0)
		return -1;
	if (project.closing)
		return FAIL(err, ERROR_CONFLICT, "project '%s' is being deleted", project_id);
	if (insertion->project_version && project.version != insertion->project_version) {
		insertion->is_outdated = true;
		return FAIL(err, ERROR_CONFLICT, "project '%s' was changed meanwhile", project_id);
	}
	error_set(err, ERROR_LIMIT, 0, HERE, "the project has %u sandboxes already",
	          insertion->project_max);
	err->quota = (struct error_quota){.name = "sandboxes_max",
	                                  .scope = "project",
	                                  .limit = insertion->project_max,
	                                  .used = insertion->project_max};
	return FAIL_HINT(err, "delete one, or raise sandboxes_max");
}

static struct quota_use use_of(const struct sandbox_record *r)
{
	bool has_process = r->actual != SANDBOX_STOPPED;

	return (struct quota_use){.sandboxes_running = has_process,
	                          .sandboxes_stopped = !has_process,
	                          .cpu = r->resources.cpu,
	                          .memory_mb = r->resources.memory_mb,
	                          .disk_mb = r->resources.disk_mb};
}

static int check_quotas(struct store_connection *c, const struct sandbox_record *r,
                        enum quota_event event, struct error *err)
{
	const struct quota_admission admission = {.project_id = r->project_id,
	                                          .key_id = r->key_id,
	                                          .own = use_of(r),
	                                          .now = clock_unix_ms(),
	                                          .event = event};

	return quota_run_admit(c, &admission, err);
}

static int admit_sandbox(struct store_connection *c, struct sandbox_insertion *insertion,
                         struct error *err)
{
	const struct project_admission admission = {.project_id = insertion->record->project_id,
	                                            .living_max = insertion->project_max,
	                                            .version = insertion->project_version};

	return ROW_OR(query_run(c, QUERY_PROJECT_ADMIT, &admission, NULL, err),
	              refuse_admission(c, insertion, err));
}

static int check_template(struct store_connection *c, const struct sandbox_record *r,
                          struct error *err)
{
	return ROW_OR(template_run_exists(c, r->template_id, err),
	              FAIL(err, ERROR_NOT_FOUND, "template '%s' is gone", r->template_name));
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

	/* A transaction may be run more than once. */
	insertion->is_outdated = insertion->is_claim_lost = insertion->is_provider_lost = false;
	if (insertion->claim &&
	    lease_run_claim(c, insertion->claim, &insertion->is_claim_lost, err) < 0)
		return -1;
	if (insertion->is_stored_provider && provider_run_lock(c, r->provider, err) < 0) {
		insertion->is_provider_lost = err->code == ERROR_CONFLICT;
		return -1;
	}
	if (check_template(c, r, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_SANDBOX_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a sandbox named '%s' exists already", r->name)) < 0 ||
	    (is_living[r->actual] && (admit_sandbox(c, insertion, err) < 0 ||
	                              check_quotas(c, r, QUOTA_ON_CREATE, err) < 0)) ||
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

	return store_transact(s, &(struct transaction){run_insertion, insertion, is_lazy}, err);
}

int store_sandbox_insert(struct store *s, const struct sandbox_record *r, unsigned project_max,
                         struct error *err)
{
	return store_sandbox_insert_with(
	        s, &(struct sandbox_insertion){.record = r, .project_max = project_max}, err);
}

struct move_change {
	struct sandbox_transition takes;
	struct arena *arena;
	struct sandbox_record *ret;
	const struct lease_record *lease; /* NULL = none */
	const struct mount_list *mounts;  /* NULL = its present mounts */
	unsigned project_max;
	bool is_lease_lost;
};

int sandbox_run_state(struct store_connection *c, const char *id, int *ret_state, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_seen seen;
	int found = query_find(c, QUERY_SANDBOX_STATE, LOOKUP(.id = id), INTO(&arena, &seen), err);

	if (found > 0)
		*ret_state = seen.actual;
	return found;
}

/* Fills err with why the compare-and-set matched no row. Always -1. */
static int refuse_change(struct store_connection *c, const struct sandbox_transition *takes,
                         struct error *err)
{
	int actual;
	int found = sandbox_run_state(c, takes->id, &actual, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return FAIL_MISSING(err, "sandbox", takes->id);
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s, not %s", takes->id,
	            sandbox_state_name((enum sandbox_state)actual),
	            sandbox_state_name(takes->from));
}

/* Releases its place in the project when it stops being living. */
static int let_go(struct store_connection *c, const struct move_change *change, struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	const struct project_admission admission = {.project_id = change->ret->project_id};

	if (!is_living[takes->from] || is_living[takes->to])
		return 0;
	return query_run(c, QUERY_PROJECT_RELEASE, &admission, NULL, err) < 0 ? -1 : 0;
}

/* Takes a place in the project when a deleted sandbox is restored. */
static int take_place(struct store_connection *c, const struct move_change *change,
                      struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	struct sandbox_insertion back = {.record = change->ret, .project_max = change->project_max};

	if (is_living[takes->from] || !is_living[takes->to])
		return 0;
	return admit_sandbox(c, &back, err) < 0
	               ? -1
	               : check_quotas(c, change->ret, QUOTA_ON_UNDELETE, err);
}

/* A sandbox with files only begins to run. */
static int check_start(struct store_connection *c, const struct move_change *change,
                       struct error *err)
{
	enum sandbox_state from = change->takes.from;

	if ((from != SANDBOX_STOPPED && from != SANDBOX_ARCHIVED) ||
	    change->takes.to != SANDBOX_CREATING)
		return 0;
	return check_quotas(c, change->ret, QUOTA_ON_START, err);
}

/* While it was archived, its backup was metered instead of its files. */
static int restart_holding(struct store_connection *c, const struct sandbox_transition *takes,
                           struct error *err)
{
	if (takes->from != SANDBOX_ARCHIVED || takes->to != SANDBOX_CREATING)
		return 0;
	return query_run(c, QUERY_HOLDING_RESTART, LOOKUP(.id = takes->id, .now = takes->now), NULL,
	                 err) < 0
	               ? -1
	               : 0;
}

static int tell_move(struct store_connection *c, const struct move_change *change,
                     struct error *err)
{
	const struct sandbox_transition *takes = &change->takes;
	const struct sandbox_record *r = change->ret;
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

	if (ROW_OR(query_find(c, QUERY_SANDBOX_MOVE, takes, INTO(change->arena, change->ret), err),
	           refuse_change(c, takes, err)) < 0 ||
	    let_go(c, change, err) < 0 || take_place(c, change, err) < 0 ||
	    check_start(c, change, err) < 0 || restart_holding(c, takes, err) < 0 ||
	    tell_move(c, change, err) < 0 ||
	    (change->mounts && mounts_run_anew(c, takes->id, change->mounts, err) < 0))
		return -1;
	return change->lease ? lease_run_finish(c, change->lease, &change->is_lease_lost, err) : 0;
}

int store_sandbox_move_read(struct store *s, struct arena *a, const struct sandbox_move *move,
                            struct sandbox_record *ret, struct error *err)
{
	struct sandbox_record moved;
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
	        .arena = a,
	        .ret = &moved,
	        .lease = move->lease,
	        .mounts = move->mounts,
	        .project_max = move->project_max,
	};
	const struct transaction transaction = {run_move, &change,
	                                        move->is_lazy || !is_resting[move->to]};

	assert(sandbox_state_can_move(move->from, move->to));
	if (move->effective)
		change.takes.resources = *move->effective;
	if (store_transact(s, &transaction, err) < 0)
		return -1;
	*ret = moved;
	ret->last_activity_at = touches_latest(s, TOUCHED_SANDBOX, ret->id, ret->last_activity_at);
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

	return ROW_OR(query_run(c, QUERY_SANDBOX_WANT, takes, NULL, err),
	              refuse_change(c, takes, err));
}

int store_sandbox_set_desired(struct store *s, const char *id, enum sandbox_state actual,
                              enum sandbox_state desired, struct error *err)
{
	struct sandbox_transition takes = {
	        .id = id, .from = actual, .desired = sandbox_state_name(desired)};

	return store_change(s, run_want, &takes, err);
}
