/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease/lease.h"

#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/core/caller.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/labels.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lease/lease_parts.h"
#include "fleet/lease/lease_spec.h"
#include "fleet/lease/leases_in_flight.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lease_claim.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/fork.h"
#include "fleet/template/templates.h"
#include "sandbox/price.h"
#include "store/sandboxes.h"

#define WAIT_MS (LEASE_CREATING_MAX_MS + 5000)
/* Poll interval: changes by other processes are not announced. */
#define LOOK_EVERY_MS 100

/* One call on its way from a key to its sandbox. */
struct lease_acquisition {
	struct fleet *fleet;
	struct arena *arena;
	const struct fleet_lease *request;
	const char *name;           /* for the desk */
	char key[ERROR_AWAITS_MAX]; /* that parked callers await */
	int64_t deadline;
	uint64_t generation;       /* of the desk, before the row was read */
	int64_t stale_epoch;       /* up to this one, a sandbox is not fresh; -1: not known yet */
	bool may_wait;             /* it has been asked */
	struct fleet_create make;  /* from the specification, since make_it */
	struct lease_record terms; /* the same: its spec_json and env_json */
	struct lease_record lease; /* as read last; all zero but for its names when there is none */
	struct fleet_leased *ret;
	struct fleet_hold *hold;
};

/* The result of a step. */
enum { STEP_FAILED = -1, STEP_AGAIN, STEP_MADE, STEP_DONE };

static struct lease_ref ref_of(const struct lease_acquisition *s)
{
	return (struct lease_ref){s->request->project_id, s->request->key};
}

static struct fleet_ref sandbox_of(const struct lease_acquisition *s)
{
	return (struct fleet_ref){.project_id = s->request->project_id,
	                          .id_or_name = s->lease.sandbox_id,
	                          .awaited = s->request->parks ? &s->request->awaited : NULL};
}

/* A sandbox of another server counts up to that server's last write: it may have ended since. */
static bool is_remote(const struct fleet *f, const struct lease_record *r)
{
	return r->node && *r->node && strcmp(r->node, f->node) != 0;
}

int64_t fleet_lease_usage_ms(const struct fleet *f, const struct lease_record *r, int64_t now)
{
	const struct usage_clock clock = {
	        .is_active = r->actual == SANDBOX_STARTED,
	        .changed_at = r->active_changed_at,
	        .active_ms = r->active_ms,
	};

	if (is_remote(f, r))
		return r->usage_ms + (r->metered_ms > r->active_ms ? r->metered_ms : r->active_ms);
	return r->usage_ms + usage_active_ms(&clock, now);
}

void lease_end_use(struct lease_record *r)
{
	r->active_since = 0;
	if (r->sandbox_activity_at > r->last_activity_at)
		r->last_activity_at = r->sandbox_activity_at;
}

/* Adds the active time of the sandbox to the lease, which has no sandbox afterwards. */
static void leave_sandbox(const struct fleet *f, struct lease_record *r, int64_t now)
{
	lease_end_use(r);
	r->usage_ms = fleet_lease_usage_ms(f, r, now);
	r->sandbox_id = "";
	r->actual = SANDBOX_DELETED;
	r->active_changed_at = r->active_ms = r->metered_ms = 0;
}

int lease_empty(struct fleet *f, const struct lease_record *r, struct error *err)
{
	struct lease_record empty = *r;

	leave_sandbox(f, &empty, clock_unix_ms());
	empty.status = LEASE_EMPTY;
	if (empty.usage_ms == 0 && lease_spec_is_empty(r))
		return store_lease_remove(f->store, r, err);
	return store_lease_replace(f->store, &empty, err);
}

void lease_drop_sandbox(struct fleet *f, const char *project_id, const char *id, bool is_known)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct fleet_ref ref = {project_id, id};
	struct error err = {0};

	if (fleet_delete(f, &arena, &ref, SANDBOX_REASON_USER, &err) < 0) {
		if (err.code != ERROR_NOT_FOUND) {
			log_warning("a lease's sandbox is left for the next round",
			            TEXT("sandbox", id), FAILURE(&err));
			return;
		}
		if (!is_known)
			return;
	}
	if (store_lease_stray_forget(f->store, id, &err) < 0)
		log_debug("a lease's sandbox is not forgotten", TEXT("sandbox", id), FAILURE(&err));
}

static int check_may_wait(struct lease_acquisition *s, struct error *err)
{
	const struct fleet_lease *request = s->request;

	if (!s->may_wait && request->may_wait && request->may_wait(request->context, err) < 0)
		return -1;
	s->may_wait = true;
	return 0;
}

static int wait_for_change_of_lease(struct lease_acquisition *s, struct error *err)
{
	struct lease_wait wait = {s->name, s->generation, deadline_after(LOOK_EVERY_MS)};

	if (check_may_wait(s, err) < 0)
		return STEP_FAILED;
	if (clock_monotonic_ms() >= s->deadline) {
		(void)FAIL(err, ERROR_TIMEOUT, "lease '%.100s': what goes on with it takes long",
		           s->request->key);
		error_hint(err, "ask again");
		return STEP_FAILED;
	}
	if (s->request->parks) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "lease '%.100s' is being made by another caller",
		           s->request->key);
		error_await(err, s->key,
		            awaited_rest_ms(&s->request->awaited, s->key, LOOK_EVERY_MS), -1);
		return STEP_FAILED;
	}
	if (wait.until > s->deadline)
		wait.until = s->deadline;
	return leases_in_flight_wait(s->fleet->leases, &wait, err) < 0 ? STEP_FAILED : STEP_AGAIN;
}

/* The sandbox has moved since its row was read: read it again. */
static int wait_if_moving(struct lease_acquisition *s, struct error *err)
{
	if (err->awaits.key[0] || (err->code != ERROR_CONFLICT && err->code != ERROR_NOT_FOUND &&
	                           err->code != ERROR_UNAVAILABLE))
		return STEP_FAILED;
	error_clear(err);
	return wait_for_change_of_lease(s, err);
}

/* The part of the sandbox's row that the lease's row has. */
static struct sandbox_record known_of(const struct lease_acquisition *s)
{
	return (struct sandbox_record){
	        .id = s->lease.sandbox_id,
	        .name = s->lease.sandbox_id,
	        .provider = s->lease.provider,
	        .node = s->lease.node,
	};
}

/* Marks the lease as in use: one write after a release or a sleep. */
static void begin_use(struct lease_acquisition *s)
{
	struct lease_record used = s->lease;
	struct error err = {0};

	if (used.active_since > 0 && used.actual == SANDBOX_STARTED)
		return;
	lease_end_use(&used);
	used.active_since = used.last_activity_at = clock_unix_ms();
	if (store_lease_replace(s->fleet->store, &used, &err) == 0) {
		used.lock_version++;
		s->lease = used;
	} else if (err.code != ERROR_CONFLICT) {
		log_warning("the use of a lease is not counted", TEXT("lease", used.key),
		            FAILURE(&err));
	}
}

/* Fails if a reachable server has the sandbox: that server does the work, so that two sandboxes
 * never exist. */
static int leave_to_owner(const struct lease_acquisition *s, struct error *err)
{
	const struct sandbox_record known = known_of(s);
	bool is_reached;

	if (strcmp(known.node, s->fleet->node) == 0)
		return 0;
	if (peer_is_reached(s->fleet, s->arena, known.node, &is_reached, err) < 0)
		return -1;
	return is_reached ? sandbox_check_local(s->fleet, &known, err) : 0;
}

static int use_sandbox(struct lease_acquisition *s, struct error *err)
{
	struct fleet_ref ref = sandbox_of(s);
	const struct sandbox_record known = known_of(s);

	if (s->lease.actual != SANDBOX_STARTED && leave_to_owner(s, err) < 0)
		return STEP_FAILED;
	ref.use = s->request->use;
	if (!sandbox_is_local(s->fleet, &known)) {
		/* The sandbox of another server: that server knows its state. */
		*s->hold = (struct fleet_hold){.fleet = NULL};
		s->ret->sandbox = known;
		store_sandbox_touch(s->fleet->store, s->lease.sandbox_id, clock_unix_ms());
	} else if (fleet_hold(s->fleet, s->arena, &ref, &s->ret->sandbox, s->hold, err) < 0) {
		return wait_if_moving(s, err);
	}
	begin_use(s);
	s->ret->lease = s->lease;
	if (s->lease.actual != SANDBOX_STARTED) /* by now it is */
		s->ret->lease.active_changed_at = clock_unix_ms();
	s->ret->lease.actual = SANDBOX_STARTED;
	return STEP_DONE;
}

static int start_sandbox(struct lease_acquisition *s, struct error *err)
{
	const struct fleet_ref ref = sandbox_of(s);
	const struct sandbox_record known = known_of(s);
	struct sandbox_record r;

	if (sandbox_check_local(s->fleet, &known, err) < 0)
		return STEP_FAILED;
	if (fleet_start(s->fleet, s->arena, &ref, &r, err) < 0)
		return wait_if_moving(s, err);
	return STEP_AGAIN;
}

static int adopt_sandbox(struct lease_acquisition *s, struct error *err)
{
	struct lease_record made = s->lease;

	made.active_since = made.last_activity_at = clock_unix_ms();
	if (store_lease_finish(s->fleet->store, &made, err) == 0) {
		log_warning("who made a lease's sandbox has gone: it is adopted",
		            TEXT("lease", made.key), TEXT("sandbox", made.sandbox_id));
		leases_in_flight_announce(s->fleet->leases);
	} else if (err->code != ERROR_CONFLICT) {
		return STEP_FAILED;
	}
	error_clear(err);
	return STEP_AGAIN;
}

/* After a wait on this thread. */
static int check_lease_caller(const struct lease_acquisition *s, struct error *err)
{
	return fleet_caller_check(s->fleet, s->arena, s->request->make->caller,
	                          s->request->project_id, err);
}

/* Refuses what it can before the lease is claimed; the minutes that a template may take do not
 * count for the claim. */
static int prepare_template(struct lease_acquisition *s, struct error *err)
{
	const struct fleet_create *make = &s->make;
	struct fleet *f = s->fleet;
	const struct template_need need = {s->request->project_id, &s->request->awaited};
	struct template_record t;

	if (request_check(make, err) < 0 ||
	    create_find_template(f, s->arena, s->request->project_id, make, &t, err) < 0)
		return -1;
	if (t.state == TEMPLATE_READY)
		return 0;
	if (s->request->parks)
		return fleet_template_require(f, s->arena, &t, &need, err);
	if (fleet_template_ready(f, s->arena, &t, deadline_after(TEMPLATE_TIMEOUT_MS), err) < 0)
		return -1;
	return check_lease_caller(s, err);
}

/* The claim of this thread, under a new epoch, for a compare-and-set. */
static struct lease_claim lease_claim_new(struct lease_acquisition *s)
{
	struct lease_claim claim = {.lease = s->lease};
	struct lease_record *mine = &claim.lease;
	int64_t now = clock_unix_ms();
	struct id id = id_new();

	leave_sandbox(s->fleet, mine, now);
	mine->sandbox_id = arena_text(s->arena, id.text);
	mine->status = LEASE_CREATING;
	mine->creating_since = mine->last_activity_at = now;
	mine->epoch++;
	mine->run = s->request->run ? s->request->run : "";
	mine->sessions_max = s->request->sessions_max;
	mine->spec_json = s->terms.spec_json;
	mine->env_json = s->terms.env_json;
	if (s->lease.lock_version == 0)
		mine->created_at = now;
	return claim;
}

/* Claims the lease and deletes the old sandbox first, so that two never exist. A sandbox of another
 * server, or one whose creator may still come, is left to the next tick. */
static int claim_and_drop(struct lease_acquisition *s, struct lease_claim *claim, struct error *err)
{
	int result = store_lease_replace(s->fleet->store, &claim->lease, err);

	lease_claimed(claim, result < 0, result < 0 && err->code == ERROR_CONFLICT);
	if (result == 0)
		lease_drop_sandbox(s->fleet, claim->lease.project_id, s->lease.sandbox_id, true);
	return result;
}

struct json_map lease_labels(struct arena *a, const struct json_map *given, const char *key)
{
	struct json_pair *pairs = ARENA_ARRAY(a, struct json_pair, given->count + 1);

	if (strlen(key) > LEASE_KEY_MAX) /* a session's, which is longer than a label */
		return *given;
	if (given->count > 0)
		memcpy(pairs, given->pairs, given->count * sizeof(*pairs));
	pairs[given->count] = (struct json_pair){LEASE_LABEL, key};
	return (struct json_map){pairs, given->count + 1, true};
}

/* Ends a claim whose create has failed. A specification that led to no sandbox does not replace the
 * one before. */
static void abandon_claim(struct lease_acquisition *s, const struct lease_record *mine)
{
	struct lease_record failed = *mine;
	struct error err = {0};

	failed.spec_json = s->lease.spec_json;
	failed.env_json = s->lease.env_json;
	if (lease_empty(s->fleet, &failed, &err) < 0)
		log_debug("a claim was taken over", TEXT("lease", mine->key), FAILURE(&err));
	lease_drop_sandbox(s->fleet, mine->project_id, mine->sandbox_id, true);
}

/* The sandbox was created, but the lease was taken over meanwhile. */
static int drop_late_sandbox(struct lease_acquisition *s, const struct lease_record *mine)
{
	log_info("a lease was taken over while its sandbox was made", TEXT("lease", mine->key),
	         TEXT("sandbox", mine->sandbox_id));
	lease_drop_sandbox(s->fleet, mine->project_id, mine->sandbox_id, true);
	return STEP_AGAIN;
}

static int take_created(struct lease_acquisition *s, const struct lease_record *mine,
                        const struct sandbox_record *made)
{
	if (s->lease.status == LEASE_CREATING && s->lease.lock_version > 0)
		log_warning("a lease was taken over from one who did not come back",
		            TEXT("lease", mine->key), NUMBER("epoch", mine->epoch),
		            TEXT("sandbox", s->lease.sandbox_id));
	s->lease = *mine;
	s->lease.actual = SANDBOX_STARTED;
	s->lease.active_changed_at = clock_unix_ms();
	s->lease.provider = made->provider;
	s->lease.node = made->node;
	s->lease.sandbox_activity_at = made->last_activity_at;
	s->ret->created = true;
	return STEP_MADE;
}

static int create_claimed(struct lease_acquisition *s, struct lease_claim *claim, struct error *err)
{
	struct fleet_create create = s->make;
	const struct lease_record *mine = &claim->lease;
	struct sandbox_record made;

	create.project_id = mine->project_id;
	create.id = mine->sandbox_id;
	create.own_labels = lease_labels(s->arena, &create.own_labels, mine->key);
	create.wait = true;
	/* A lease whose old sandbox is deleted already must not be left without one: the call does
	 * not park. */
	create.awaited = s->request->parks && !claim->is_made ? &s->request->awaited : NULL;
	create.claim = claim;
	create.caller = s->request->make->caller;
	if (fleet_create(s->fleet, s->arena, &create, &made, err) == 0)
		return claim->is_lost ? drop_late_sandbox(s, mine) : take_created(s, mine, &made);
	if (claim->is_made)
		abandon_claim(s, mine);
	return STEP_FAILED;
}

static int create_sandbox_for_lease(struct lease_acquisition *s, struct error *err)
{
	struct lease_claim claim = lease_claim_new(s);
	int result = STEP_FAILED;

	if (s->lease.status != LEASE_READY || claim_and_drop(s, &claim, err) == 0)
		result = create_claimed(s, &claim, err);
	/* Another thread or server was faster. */
	if (result == STEP_FAILED && claim.is_lost && !claim.is_made) {
		error_clear(err);
		result = STEP_AGAIN;
	}
	return result;
}

/* Compare and set, as for a claim; the epoch grows only at the end, so that files of an interrupted
 * reset never count as new. */
static int write_reset(struct lease_acquisition *s, enum lease_status status, struct error *err)
{
	struct lease_record next = s->lease;
	int64_t now = clock_unix_ms();

	if (status == LEASE_CREATING) {
		lease_end_use(&next);
		next.creating_since = now;
	} else {
		next.epoch++;
		next.run = s->request->run ? s->request->run : "";
		next.active_since = now;
		next.is_reset = true;
		next.spec_json = s->terms.spec_json;
		next.env_json = s->terms.env_json;
	}
	next.status = status;
	next.last_activity_at = now;
	if (store_lease_replace(s->fleet->store, &next, err) < 0)
		return -1;
	next.lock_version++;
	next.is_reset = false;
	s->lease = next;
	return 0;
}

/* The sandbox cannot be reset: creates another sandbox under the same claim. */
static int replace_sandbox(struct lease_acquisition *s, const struct error *why, struct error *err)
{
	log_info("a lease's sandbox is not reset but replaced", TEXT("lease", s->lease.key),
	         FAILURE(why));
	s->lease.status = LEASE_READY;
	return create_sandbox_for_lease(s, err);
}

static int reset_under_claim(struct lease_acquisition *s, struct error *err)
{
	const struct fleet_ref ref = sandbox_of(s);
	struct error why = {0};
	struct sandbox_record r;

	if (write_reset(s, LEASE_CREATING, err) < 0)
		return -1;
	fault_point("lease", "reset-claimed");
	if (fleet_reset(s->fleet, s->arena, &ref, &r, &why) < 0)
		return replace_sandbox(s, &why, err);
	fault_point("lease", "reset");
	if (write_reset(s, LEASE_READY, err) < 0)
		return -1;
	s->ret->reset = true;
	return STEP_AGAIN;
}

static int reset_sandbox(struct lease_acquisition *s, struct error *err)
{
	int result = reset_under_claim(s, err);

	if (result == STEP_FAILED && err->code == ERROR_CONFLICT) {
		error_clear(err);
		return STEP_AGAIN;
	}
	return result;
}

/* The creator with an expired claim may be a thread of this process and still in the table: a
 * thread that takes over uses a name of its own. */
static const char *in_flight_name(const struct lease_acquisition *s)
{
	return s->lease.status == LEASE_CREATING && s->lease.lock_version > 0
	               ? arena_format(s->arena, "%s\n%" PRId64, s->name, s->lease.lock_version)
	               : s->name;
}

/* Works out the specification to create from. */
static int resolve_terms(struct lease_acquisition *s, struct error *err)
{
	struct lease_spec kept, spec;

	if (lease_spec_load(s->fleet, s->arena, &s->lease, &kept, err) < 0)
		return -1;
	spec = lease_spec_join(s->request, &kept);
	s->make = *s->request->make;
	lease_spec_apply(&spec, &s->make);
	s->terms = s->lease;
	return lease_spec_store(s->arena, &spec, &s->terms, err);
}

static int make_sandbox(struct lease_acquisition *s, struct error *err)
{
	bool is_warm = s->lease.status == LEASE_READY && s->lease.actual != SANDBOX_DELETED &&
	               s->lease.actual != SANDBOX_DELETING && s->lease.actual != SANDBOX_FAILED;
	const char *name = in_flight_name(s);
	int result;

	if ((is_warm && leave_to_owner(s, err) < 0) || resolve_terms(s, err) < 0 ||
	    prepare_template(s, err) < 0)
		return STEP_FAILED;
	if (!leases_in_flight_add(s->fleet->leases, name))
		return wait_for_change_of_lease(s, err);
	if (is_warm && lease_can_reset(s->fleet, s->arena, &s->lease, &s->make))
		result = reset_sandbox(s, err);
	else
		result = create_sandbox_for_lease(s, err);
	leases_in_flight_remove(s->fleet->leases, name);
	awaited_announce(s->fleet, s->key);
	return result == STEP_MADE ? use_sandbox(s, err) : result;
}

typedef int step(struct lease_acquisition *s, struct error *err);
static step *const steps[] = {
        [LEASE_USE] = use_sandbox,
        [LEASE_START] = start_sandbox,
        [LEASE_WAIT] = wait_for_change_of_lease,
        [LEASE_MAKE] = make_sandbox,
        [LEASE_TAKE_OVER] = make_sandbox,
        [LEASE_ADOPT] = adopt_sandbox,
};

/* Evaluated once at the beginning; afterwards the epoch tells. */
static bool wants_fresh(const struct lease_acquisition *s)
{
	const char *run = s->request->run;

	return s->request->is_fresh || (run && strcmp(run, s->lease.run) != 0);
}

static int read_lease(struct lease_acquisition *s, struct error *err)
{
	const struct lease_ref ref = ref_of(s);

	s->generation = leases_in_flight_generation(s->fleet->leases);
	if (store_lease_find(s->fleet->store, s->arena, &ref, &s->lease, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		s->lease = (struct lease_record){.project_id = ref.project_id,
		                                 .key = ref.key,
		                                 .sandbox_id = "",
		                                 .status = LEASE_EMPTY,
		                                 .run = "",
		                                 .spec_json = "",
		                                 .env_json = "",
		                                 .name = s->name,
		                                 .provider = "",
		                                 .node = ""};
	}
	if (s->stale_epoch < 0)
		s->stale_epoch = wants_fresh(s) ? s->lease.epoch : 0;
	return 0;
}

static enum lease_action choose_action(const struct lease_acquisition *s)
{
	const struct lease_view view = {
	        .status = s->lease.status,
	        .actual = s->lease.actual,
	        .creating_since = s->lease.creating_since,
	};

	if (s->lease.status == LEASE_READY && s->lease.epoch <= s->stale_epoch)
		return LEASE_MAKE;
	return lease_decide(&view, clock_unix_ms());
}

/* Compares the existing sandbox with the request. A lease without a specification matches. */
static int compare_terms(struct lease_acquisition *s, enum lease_action *action, struct error *err)
{
	enum lease_terms terms = s->request->terms;
	const struct lease_spec given = lease_spec_given(s->request);
	struct lease_spec kept;
	const char *names;

	if ((*action != LEASE_USE && *action != LEASE_START) || !*s->lease.spec_json ||
	    (terms != LEASE_TERMS_SAME && terms != LEASE_TERMS_UPDATE))
		return 0;
	if (lease_spec_read(s->arena, &s->lease, &kept, err) < 0)
		return -1;
	names = lease_spec_differing(s->fleet, s->arena, &kept, &given);
	if (names && terms == LEASE_TERMS_UPDATE)
		*action = LEASE_MAKE;
	if (!names || terms == LEASE_TERMS_UPDATE)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "the sandbox of lease '%.100s' was made with another specification: %s differ",
	           s->request->key, names);
	return FAIL_HINT(
	        err, "leave these out to use it as it is; \"update\": true replaces the sandbox, "
	             "and \"continue\": false begins anew");
}

/* fleet_lease_acquire that holds the sandbox; ret_hold->fleet is NULL if another server has it. */
static int open_lease(struct fleet *f, struct arena *a, const struct fleet_lease *request,
                      struct fleet_leased *ret, struct fleet_hold *ret_hold, struct error *err)
{
	const struct lease_ref ref = {request->project_id, request->key};
	struct lease_acquisition s = {
	        .fleet = f,
	        .arena = a,
	        .request = request,
	        .name = lease_name(a, &ref),
	        .stale_epoch = -1,
	        .ret = ret,
	        .hold = ret_hold,
	};
	int result = STEP_AGAIN;

	awaited_key("lease", s.name, s.key);
	s.deadline = awaited_since(&request->awaited, s.key) +
	             (request->wait_ms > 0 ? request->wait_ms : WAIT_MS);
	*ret = (struct fleet_leased){.created = false};
	if (lease_key_check(request->key, err) < 0)
		return -1;
	for (bool is_first = true; result == STEP_AGAIN; is_first = false) {
		enum lease_action action;

		if ((!is_first && check_lease_caller(&s, err) < 0) || read_lease(&s, err) < 0)
			return -1;
		action = choose_action(&s);
		if (compare_terms(&s, &action, err) < 0)
			return -1;
		if ((action != LEASE_USE || s.lease.actual != SANDBOX_STARTED) &&
		    check_may_wait(&s, err) < 0)
			return -1;
		result = steps[action](&s, err);
	}
	return result == STEP_DONE ? 0 : -1;
}

int fleet_lease_hold(struct fleet *fleet, struct arena *a, const struct fleet_lease *request,
                     struct fleet_leased *ret, struct fleet_hold *ret_hold, struct error *err)
{
	if (open_lease(fleet, a, request, ret, ret_hold, err) < 0)
		return -1;
	return ret_hold->fleet ? 0 : sandbox_check_local(fleet, &ret->sandbox, err);
}

int fleet_lease_acquire(struct fleet *fleet, struct arena *a, const struct fleet_lease *request,
                        struct fleet_leased *ret, struct error *err)
{
	struct fleet_hold hold;

	if (open_lease(fleet, a, request, ret, &hold, err) < 0)
		return -1;
	fleet_unhold(&hold);
	return 0;
}
