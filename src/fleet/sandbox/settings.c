/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/settings.h"

#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "config/config.h"
#include "fleet/backup/backup.h"
#include "fleet/core/labels.h"
#include "fleet/core/operation.h"
#include "fleet/core/project_cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/usage/meters.h"
#include "json/write.h"
#include "store/projects.h"
#include "store/sandboxes.h"
#include "store/secrets.h"

static int64_t given_or(int64_t given, int64_t otherwise)
{
	return given == FLEET_LEAVE ? otherwise : given;
}

/* Own labels in the request are dropped: a client may send back the labels it has read. */
static int merge_labels(struct arena *a, const struct sandbox_record *r,
                        const struct json_map *given, struct json_map *ret, struct error *err)
{
	struct json_map before, labels, own, ignored;

	if (text_map_of_json(a, r->labels_json, &before, err) < 0)
		return -1;
	labels_split(a, given, &labels, &ignored);
	if (labels_check(&labels, err) < 0)
		return -1;
	labels_split(a, &before, &ignored, &own);
	*ret = labels_join(a, &labels, &own);
	return 0;
}

static struct sandbox_settings settings_of(struct arena *a, const struct sandbox_record *r,
                                           const struct fleet_settings *change)
{
	struct sandbox_settings settings = {
	        .id = r->id,
	        .name = change->name,
	        .version = change->version,
	        .labels_json = change->labels ? json_format_map(a, change->labels) : r->labels_json,
	        .persistent = change->persistent < 0 ? r->persistent : change->persistent > 0,
	        .timeout_at = given_or(change->timeout_at, r->timeout_at),
	        .timeouts = r->timeouts,
	};

	sandbox_timeouts_change(&settings.timeouts, &change->timeouts);
	return settings;
}

/* By the rules that a request to make it would be held to. */
static int check_settings(struct fleet *f, const struct fleet_settings *change,
                          const struct sandbox_settings *s, struct error *err)
{
	const struct fleet_create request = {.timeouts = s->timeouts};

	if (change->name && sandbox_name_check(change->name, err) < 0)
		return -1;
	if (s->timeout_at < 0)
		return FAIL(err, ERROR_INVALID, "a time must not be before 1970");
	if (change->timeouts.archive_after_ms > 0 && backup_check(f, err) < 0)
		return -1;
	return request_check(&request, err);
}

int fleet_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
              const struct fleet_settings *change, struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct fleet_settings within = *change;
	struct sandbox_settings settings;
	struct json_map labels;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (change->labels) {
		if (merge_labels(a, &op.record, change->labels, &labels, err) < 0)
			return -1;
		within.labels = &labels;
	}
	settings = settings_of(a, &op.record, &within);
	if (check_settings(fleet, &within, &settings, err) < 0 ||
	    store_sandbox_set(fleet->store, a, &settings, &op.record, err) < 0)
		return -1;
	operation_show(&op);
	*ret = op.record;
	return 0;
}

/* Its filesystem grows when it starts the next time: nothing of it is mounted then. */
static int check_disk(const struct sandbox_record *r, int64_t disk_mb, struct error *err)
{
	int64_t now_mb = r->resources.disk_mb;

	if (disk_mb == 0 || disk_mb == now_mb)
		return 0;
	if (disk_mb < now_mb) {
		(void)FAIL(err, ERROR_CONFLICT,
		           "disk_mb: a disk only grows, and sandbox '%s' has %" PRId64 " MiB",
		           r->id, now_mb);
		return FAIL_HINT(err, "create another one, and copy what it is to have");
	}
	if (r->actual == SANDBOX_STOPPED)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "disk_mb: sandbox '%s' is %s, and a disk grows while it is "
	           "stopped",
	           r->id, sandbox_state_name(r->actual));
	return FAIL_HINT(err, "stop it first");
}

static int check_change(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                        const struct sandbox_resources *change, struct error *err)
{
	struct project_record project;

	if (sandbox_require(f, r, PROVIDER_CAN_LIMIT, err) < 0 ||
	    sandbox_resources_check(change, err) < 0 ||
	    project_find(f, a, r->project_id, &project, err) < 0 ||
	    sandbox_resources_within(change, &project.maximums, err) < 0 ||
	    sandbox_resources_within(change, &f->config->caps, err) < 0)
		return -1;
	return check_disk(r, change->disk_mb, err);
}

static int apply_limits(struct operation *op, const struct sandbox_resources *resources,
                        struct error *err)
{
	if (!sandbox_is_alive(&op->record))
		return 0;
	return op->ops->limit(op->provider, op->record.id, resources,
	                      deadline_after(CALL_TIMEOUT_MS), err);
}

/* Writes the usage so far first: its price depends on the resources in the row. */
static int record_limits(struct operation *op, struct arena *arena,
                         const struct sandbox_revision *update, struct error *err)
{
	struct fleet *f = op->fleet;

	if (meters_write_use(f, op->record.id, err) < 0 ||
	    store_sandbox_set_resources(f->store, arena, update, &op->record, err) < 0)
		return -1;
	operation_show(op);
	return 0;
}

static int limit_and_record(struct operation *op, struct arena *arena,
                            const struct sandbox_revision *update, struct error *err)
{
	const struct sandbox_resources before = op->record.resources;
	struct error second = {0};

	if (apply_limits(op, &update->resources, err) < 0)
		return -1;
	fault_point("api", "resize-told");
	if (record_limits(op, arena, update, err) == 0)
		return 0;
	if (apply_limits(op, &before, &second) < 0)
		log_warning("limits that were not kept are in force",
		            TEXT("sandbox", op->record.id), FAILURE(&second));
	return -1;
}

static int record_and_limit(struct operation *op, struct arena *arena,
                            const struct sandbox_revision *update, struct error *err)
{
	struct sandbox_revision back = *update, quiet = *update;
	struct error second = {0};

	back.resources = op->record.resources;
	back.is_quiet = quiet.is_quiet = true;
	if (record_limits(op, arena, &quiet, err) < 0)
		return -1;
	fault_point("api", "resize-recorded");
	if (apply_limits(op, &update->resources, err) == 0) {
		/* Told only now that it is done. */
		if (record_limits(op, arena, update, &second) < 0)
			log_warning("nobody is told of a resize", TEXT("sandbox", op->record.id),
			            FAILURE(&second));
		return 0;
	}
	if (record_limits(op, arena, &back, &second) < 0)
		log_warning("limits are recorded that are not in force",
		            TEXT("sandbox", op->record.id), FAILURE(&second));
	return -1;
}

/* The row always allows at least as much memory as the kernel, also after a crash in between: more
 * can be given later, but used memory cannot be taken back. */
static int change_limits(struct operation *op, struct arena *arena,
                         const struct sandbox_revision *update, struct error *err)
{
	bool grows = update->resources.memory_mb > op->record.resources.memory_mb;

	return grows ? record_and_limit(op, arena, update, err)
	             : limit_and_record(op, arena, update, err);
}

int limits_reconcile(struct operation *op, struct error *err)
{
	if (!(op->ops->abilities & PROVIDER_CAN_LIMIT))
		return 0;
	return apply_limits(op, &op->record.resources, err);
}

int fleet_resize(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                 const struct sandbox_resources *change, struct sandbox_record *ret,
                 struct error *err)
{
	static const struct sandbox_resources no_cap = {0};
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_revision update;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    check_change(fleet, a, &op.record, change, err) < 0)
		return -1;
	const struct sandbox_resources layers[] = {*change, op.record.resources};

	update = (struct sandbox_revision){
	        .id = op.record.id,
	        .env_json = "",
	        .resources = sandbox_resources_resolve(layers, COUNT_OF(layers), &no_cap),
	};
	if (!sandbox_is_alive(&op.record) && op.record.actual != SANDBOX_STOPPED &&
	    op.record.actual != SANDBOX_ARCHIVED)
		return refuse_state(&op.record, "resized", err);
	if (change_limits(&op, a, &update, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}

static bool is_named(const char *const *names, const char *name)
{
	for (size_t i = 0; names && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The previous entries that stay, and then the set ones. */
static int merge_environment(struct arena *a, const struct sandbox_record *r,
                             const struct fleet_environment *change, struct json_map *ret,
                             struct error *err)
{
	struct json_map before;

	if (store_secret_check(r->env_json, err) < 0 ||
	    text_map_of_json(a, r->env_json, &before, err) < 0)
		return FAIL_CONTEXT(err, "environment of sandbox '%s'", r->name);
	*ret = (struct json_map){
	        .pairs = ARENA_ARRAY(a, struct json_pair, before.count + change->set->count + 1),
	        .present = true};
	for (size_t i = 0; i < before.count; i++)
		if (!is_named(change->unset, before.pairs[i].key) &&
		    !text_map_find(change->set, before.pairs[i].key))
			ret->pairs[ret->count++] = before.pairs[i];
	for (size_t i = 0; i < change->set->count; i++)
		ret->pairs[ret->count++] = change->set->pairs[i];
	return environment_check(ret, err);
}

int fleet_set_environment(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          const struct fleet_environment *change, struct sandbox_record *ret,
                          struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_revision update;
	struct json_map merged;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    merge_environment(a, &op.record, change, &merged, err) < 0)
		return -1;
	update = (struct sandbox_revision){.id = op.record.id,
	                                   .env_json = json_format_map(a, &merged)};
	if (store_sandbox_set_env(fleet->store, a, &update, &op.record, err) < 0)
		return -1;
	operation_show(&op);
	*ret = op.record;
	return 0;
}

static int check_keep(const struct sandbox_record *r, int64_t keep_ms, struct error *err)
{
	if (keep_ms < 0 || keep_ms > FLEET_KEEP_MAX_MS)
		return FAIL(err, ERROR_INVALID, "a sandbox is kept awake for 24 hours at most");
	if (r->actual == SANDBOX_DELETING || r->actual == SANDBOX_FAILED)
		return refuse_state(r, "kept", err);
	return 0;
}

int fleet_keep(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref, int64_t keep_ms,
               struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_keep keep;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    check_keep(&op.record, keep_ms, err) < 0)
		return -1;
	keep = (struct sandbox_keep){.id = op.record.id};
	if (keep_ms > 0)
		keep.until = clock_unix_ms() + keep_ms;
	if (keep_ms > 0 && keep.until < op.record.awake_until)
		keep.until = op.record.awake_until;
	if (store_sandbox_keep(fleet->store, a, &keep, &op.record, err) < 0)
		return -1;
	operation_show(&op);
	*ret = op.record;
	return 0;
}

int fleet_set_timeout(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      const struct fleet_timeout *timeout, struct sandbox_record *ret,
                      struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	int64_t at = clock_unix_ms() + timeout->for_ms;

	if (timeout->for_ms < 1 || timeout->for_ms > FLEET_TIMEOUT_MAX_MS)
		return FAIL(err, ERROR_INVALID, "a timeout is between 1 ms and a year");
	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (op.record.actual == SANDBOX_DELETING || op.record.actual == SANDBOX_FAILED)
		return refuse_state(&op.record, "given time", err);
	if (timeout->is_later && op.record.timeout_at >= at) {
		*ret = op.record;
		return 0;
	}
	if (store_sandbox_set_timeout(fleet->store, a, op.record.id, at, &op.record, err) < 0)
		return -1;
	operation_show(&op);
	*ret = op.record;
	return 0;
}
