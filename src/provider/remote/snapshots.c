/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/remote/snapshots.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "provider/remote/parts.h"

#define CLEAN_UP_MS 20000 /* to remove a snapshot that failed */
#define LIST_MS 30000

static int check_id(const char *snapshot, struct error *err)
{
	return id_is_valid(snapshot) ? 0
	                             : FAIL(err, ERROR_INVALID, "'%s' is no snapshot id", snapshot);
}

void remote_snapshot_name(const struct remote *r, const char *snapshot,
                          char ret[REMOTE_SNAPSHOT_NAME_SIZE])
{
	(void)snprintf(ret, REMOTE_SNAPSHOT_NAME_SIZE, "atoll-%s-%s", r->server, snapshot);
}

void remote_snapshot_note(const struct remote *r, struct arena *a, const char *text,
                          struct provider_list *list, size_t *capacity)
{
	char prefix[REMOTE_SNAPSHOT_NAME_SIZE], id[ID_SIZE + 1] = "";
	const char *at;

	remote_snapshot_name(r, "", prefix);
	at = strstr(text, prefix);
	if (at)
		(void)snprintf(id, sizeof(id), "%.*s", (int)ID_SIZE, at + strlen(prefix));
	if (!id_is_valid(id))
		return;
	list->entries = arena_grow(a, list->entries, list->count, capacity, sizeof(*list->entries));
	list->entries[list->count] = (struct provider_entry){0};
	memcpy(list->entries[list->count++].id, id, sizeof(id));
}

static int take_running(struct remote *r, const struct remote_sandbox *s,
                        const struct provider_snapshot *request, int64_t deadline,
                        struct error *err)
{
	int status = r->kind->snapshots->take(r, s, request->snapshot, deadline, err);

	/* An answer that was lost may have made it. */
	if (status < 0)
		(void)!r->kind->snapshots->remove(r, request->snapshot, deadline_after(CLEAN_UP_MS),
		                                  &(struct error){0});
	return status;
}

/* Most services take snapshots of what runs: a paused or stopped sandbox is woken for it. */
static int take_held(struct remote *r, const struct provider_snapshot *request, int64_t deadline,
                     struct error *err)
{
	struct remote_sandbox s;
	enum remote_state before;

	if (remote_find_sandbox(r, request->sandbox, deadline, &s, err) < 0)
		return -1;
	before = s.state;
	if (before == REMOTE_STOPPED && r->kind->snapshots->takes_stopped)
		return take_running(r, &s, request, deadline, err);
	if (before != REMOTE_RUNNING && remote_wake_sandbox(r, NULL, &s, deadline, err) < 0)
		return -1;
	int status = take_running(r, &s, request, deadline, err);
	if (before == REMOTE_RUNNING)
		return status;
	struct error why = {0};
	if (remote_rest_sandbox(r, &s, before == REMOTE_PAUSED, deadline_after(CLEAN_UP_MS), &why) <
	    0) {
		*err = why;
		return FAIL_CONTEXT(err, "pause sandbox '%s' again after its snapshot", s.id);
	}
	return status;
}

static int take_snapshot(struct provider *p, const struct provider_snapshot *request,
                         int64_t deadline, struct provider_snapshot_made *ret, struct error *err)
{
	struct remote *r = as_remote(p);

	if (!id_is_valid(request->sandbox))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", request->sandbox);
	if (check_id(request->snapshot, err) < 0 ||
	    remote_record_hold(r, request->sandbox, deadline, err) < 0)
		return -1;
	int status = take_held(r, request, deadline, err);
	remote_record_release(r, request->sandbox);
	*ret = (struct provider_snapshot_made){.depth = 1, .method = "service"};
	return status;
}

int remote_copy_settle(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                       struct error *err)
{
	return r->kind->snapshots->copies_processes ? remote_agent_end(r, s, deadline, err) : 0;
}

static int remove_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	if (check_id(snapshot, err) < 0)
		return -1;
	return as_remote(p)->kind->snapshots->remove(as_remote(p), snapshot, deadline, err);
}

static int list_snapshots(struct provider *p, struct arena *a, struct provider_list *ret,
                          struct error *err)
{
	return as_remote(p)->kind->snapshots->list(as_remote(p), a, deadline_after(LIST_MS), ret,
	                                           err);
}

static int refuse_restore(struct provider *p, UNUSED const char *sandbox,
                          UNUSED const char *snapshot, UNUSED int64_t deadline, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "provider '%s' cannot do this: give an existing sandbox other files",
	           as_remote(p)->name);
	return FAIL_HINT(err, "create a new sandbox from the snapshot or the template");
}

static int refuse_memory(struct provider *p, UNUSED int64_t deadline, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", as_remote(p)->name,
	            provider_ability_name(PROVIDER_CAN_KEEP_MEMORY));
}

static int refuse_backup(struct provider *p, UNUSED const struct provider_backup *request,
                         UNUSED int64_t deadline, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", as_remote(p)->name,
	            provider_ability_name(PROVIDER_CAN_BACKUP));
}

const struct snapshot_ops remote_snapshots = {
        .take = take_snapshot,
        .restore = refuse_restore,
        .can_restore = refuse_restore,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .memory = refuse_memory,
        .backup = refuse_backup,
};
