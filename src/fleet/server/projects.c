/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of a project. It is closed first: nothing new is added, and its things are removed one by
 * one. */
#include "fleet/server/projects.h"

#include <string.h>

#include "base/fault.h"
#include "fleet/backup/backups.h"
#include "fleet/build/builds.h"
#include "fleet/core/fleet_state.h"
#include "fleet/lease/lease.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/recovery/notes.h"
#include "fleet/sandbox/artifacts.h"
#include "fleet/server/rounds.h"
#include "fleet/template/layers.h"
#include "fleet/template/templates.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/volume.h"
#include "store/projects.h"
#include "store/sandboxes.h"

#define PAGE_SIZE 100

/* A thing that cannot be removed now does not block the rest: the last failure is returned at the
 * end. */
static int return_last(const struct error *failure, struct error *err)
{
	if (failure->code == ERROR_NONE)
		return 0;
	*err = *failure;
	return -1;
}

static int end_sandboxes(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_filter filter = {
	        .project_id = id, .state = -1, .limit = PAGE_SIZE, .with_builds = true};
	struct error failure = {0};
	struct sandbox_list list;

	do {
		if (store_sandbox_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			const struct fleet_ref ref = {id, list.items[i].id};

			if (fleet_delete(f, &arena, &ref, SANDBOX_REASON_USER, err) < 0 &&
			    err->code != ERROR_NOT_FOUND)
				failure = *err;
		}
		filter.page = list.next_page;
	} while (filter.page);
	return return_last(&failure, err);
}

/* How many went. */
static int end_free_templates(struct fleet *f, const char *id, size_t *ret_ended, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error failure = {0};
	struct template_list list;

	*ret_ended = 0;
	if (store_template_list(f->store, &arena, id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].project_id, id) != 0)
			continue; /* everybody's */
		if (fleet_template_remove(f, id, list.items[i].id, err) == 0)
			++*ret_ended;
		else if (err->code != ERROR_NOT_FOUND)
			failure = *err;
	}
	return return_last(&failure, err);
}

/* A template that others are built on is removed after them. */
static int end_templates(struct fleet *f, const char *id, struct error *err)
{
	size_t ended;
	int result;

	do {
		error_clear(err);
		result = end_free_templates(f, id, &ended, err);
	} while (result < 0 && ended > 0);
	return result;
}

static int end_snapshots(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_filter filter = {.project_id = id, .limit = PAGE_SIZE};
	struct error failure = {0};
	struct snapshot_list list;

	do {
		if (store_snapshot_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			const struct fleet_ref ref = {id, list.items[i].id};

			if (fleet_snapshot_remove(f, &arena, &ref, err) < 0 &&
			    err->code != ERROR_NOT_FOUND)
				failure = *err;
		}
		filter.page = list.next_page;
	} while (filter.page);
	return return_last(&failure, err);
}

static int end_backups(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct backup_filter filter = {.project_id = id, .holder_id = "", .limit = PAGE_SIZE};
	struct error failure = {0};
	struct backup_list list;

	do {
		if (store_backup_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			const struct fleet_ref ref = {id, list.items[i].id};

			if (fleet_backup_remove(f, &arena, &ref, err) < 0 &&
			    err->code != ERROR_NOT_FOUND)
				failure = *err;
		}
		filter.page = list.next_page;
	} while (filter.page);
	return return_last(&failure, err);
}

static int end_volumes(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error failure = {0};
	struct volume_list list;

	if (store_volume_list(f->store, &arena, id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct fleet_ref ref = {id, list.items[i].id};

		if (fleet_volume_remove(f, &arena, &ref, err) < 0 && err->code != ERROR_NOT_FOUND)
			failure = *err;
	}
	return return_last(&failure, err);
}

static int finish_removal(struct fleet *f, const char *id, struct error *err)
{
	const struct lease_ref leases = {id, ""};
	uint64_t count;

	if (fleet_lease_delete_all(f, &leases, &count, err) < 0 || builds_end(f, id, err) < 0 ||
	    end_sandboxes(f, id, err) < 0 || end_snapshots(f, id, err) < 0 ||
	    end_backups(f, id, err) < 0 || artifacts_end(f, id, err) < 0 ||
	    end_volumes(f, id, err) < 0 || end_templates(f, id, err) < 0 ||
	    layers_end(f, id, err) < 0)
		return FAIL_CONTEXT(err, "delete project '%s'", id);
	/* The rows of its sandboxes go with it, so what they used is written first. */
	if (meters_write(f, 0, false, err) < 0)
		return FAIL_CONTEXT(err, "delete project '%s'", id);
	fault_point("api", "project-emptied");
	if (store_project_remove(f->store, id, err) < 0)
		return -1;
	note_drop_of(f, NOTE_PROJECT, id);
	return 0;
}

int fleet_project_remove(struct fleet *fleet, const char *id, bool with_sandboxes,
                         struct error *err)
{
	const struct project_closing closing = {id, with_sandboxes, clock_unix_ms()};

	if (store_project_close(fleet->store, &closing, err) < 0)
		return -1;
	fault_point("api", "project-closed");
	if (finish_removal(fleet, id, err) == 0)
		return 0;
	/* The round of the fleet may have been quicker. */
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

void projects_finish(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct project_list list;
	struct error err = {0};

	if (store_project_list_closing(f->store, &arena, &list, &err) < 0) {
		log_warning("projects that are being deleted are not seen", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		error_clear(&err);
		/* Another server may have finished it first. */
		if (finish_removal(f, list.items[i].id, &err) < 0 && err.code != ERROR_NOT_FOUND)
			log_warning("a project is not deleted yet",
			            TEXT("project", list.items[i].id), FAILURE(&err));
	}
}
