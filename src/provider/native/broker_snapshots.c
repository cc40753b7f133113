/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/clock.h"
#include "provider/native/broker_client.h"
#include "provider/native/broker_follow.h"
#include "provider/native/broker_provider.h"
#include "provider/snapshots.h"
#include "wire/broker.h"
#include "wire/broker_backup.h"
#include "wire/broker_snapshot.h"

#define CLEAN_UP_MS 10000

static int call_snapshot(struct provider *p, uint16_t type, struct broker_snapshot *message,
                         int64_t deadline, struct error *err)
{
	const struct broker_call request = {type, broker_snapshot_shape, message,
	                                    .may_repeat = true};

	return broker_client_call(broker_provider_client(p), &request, deadline, err);
}

static int remove_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	return call_snapshot(p, BROKER_SNAPSHOT_REMOVE,
	                     &(struct broker_snapshot){.snapshot = snapshot}, deadline, err);
}

static int restore_snapshot(struct provider *p, const char *sandbox, const char *snapshot,
                            int64_t deadline, struct error *err)
{
	struct broker_snapshot message = {.sandbox = sandbox, .snapshot = snapshot};

	return call_snapshot(p, BROKER_RESTORE, &message, deadline, err);
}

static int can_restore(struct provider *p, const char *sandbox, const char *snapshot,
                       int64_t deadline, struct error *err)
{
	struct broker_snapshot message = {.sandbox = sandbox, .snapshot = snapshot, .dry = 1};

	return call_snapshot(p, BROKER_RESTORE, &message, deadline, err);
}

static int take_snapshot(struct provider *p, const struct provider_snapshot *request,
                         int64_t deadline, struct provider_snapshot_made *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_snapshot message = {
	        .sandbox = request->sandbox, .snapshot = request->snapshot, .sync = request->sync};
	struct broker_snapshot_made made;
	const struct broker_call take_snapshot = {
	        .type = BROKER_SNAPSHOT,
	        .shape = broker_snapshot_shape,
	        .message = &message,
	        WIRE_REPLY(BROKER_SNAPSHOT_MADE, broker_snapshot_made_shape, made),
	        .arena = &a,
	};

	if (broker_client_call(broker_provider_client(p), &take_snapshot, deadline, err) < 0) {
		/* The snapshot may exist nevertheless, and no later call would remove it. */
		if (err->code == ERROR_TIMEOUT || err->code == ERROR_UNAVAILABLE)
			(void)!remove_snapshot(p, request->snapshot, deadline_after(CLEAN_UP_MS),
			                       &(struct error){0});
		return -1;
	}
	*ret = (struct provider_snapshot_made){.frozen_us = (int64_t)made.frozen_us,
	                                       .depth = made.depth};
	(void)snprintf(ret->method, sizeof(ret->method), "%s", made.method);
	(void)snprintf(ret->because, sizeof(ret->because), "%s", made.because);
	return 0;
}

static int list_snapshots(struct provider *p, struct arena *a, struct provider_list *ret,
                          struct error *err)
{
	return broker_provider_list_others(p, BROKER_SNAPSHOT_LIST, a, ret, err);
}

static int check_memory(struct provider *p, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = ""};
	const struct broker_call ask = {BROKER_MEMORY, broker_id_shape, &message,
	                                .may_repeat = true};

	return broker_client_call(broker_provider_client(p), &ask, deadline, err);
}

static const enum broker_backup_verb wire_backup_verbs[] = {
        [PROVIDER_BACKUP_EXPORT] = BROKER_BACKUP_EXPORT,
        [PROVIDER_BACKUP_LOAD] = BROKER_BACKUP_LOAD,
        [PROVIDER_BACKUP_VERIFY] = BROKER_BACKUP_VERIFY,
};

static int run_backup(struct provider *p, const struct provider_backup *request, int64_t deadline,
                      struct error *err)
{
	struct broker_backup message = {
	        .verb = wire_backup_verbs[request->verb],
	        .snapshot = request->snapshot,
	        .template_name = request->template_folder,
	        .size_max = (uint64_t)request->size_max,
	        .full = request->full,
	};
	const int fds[] = {request->document_fd, request->archive_fd};
	const struct broker_followed call_snapshot = {
	        .type = BROKER_BACKUP,
	        .shape = broker_backup_shape,
	        .message = &message,
	        .fds = fds,
	        .fd_count = COUNT_OF(fds),
	        .on_progress = request->on_progress,
	        .is_given_up = request->is_given_up,
	        .context = request->context,
	        .deadline = deadline,
	};

	if (broker_provider_follow(p, &call_snapshot, err) == 0)
		return 0;
	/* It may exist all the same, and no later call would ask for it. */
	if (request->verb == PROVIDER_BACKUP_LOAD && err->code != ERROR_CONFLICT)
		(void)!remove_snapshot(p, request->snapshot, deadline_after(CLEAN_UP_MS),
		                       &(struct error){0});
	return -1;
}

const struct snapshot_ops broker_snapshots = {
        .take = take_snapshot,
        .restore = restore_snapshot,
        .can_restore = can_restore,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .memory = check_memory,
        .backup = run_backup,
};
