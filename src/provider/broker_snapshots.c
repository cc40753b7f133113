/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/broker_snapshots.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "provider/broker_client.h"
#include "provider/broker_provider.h"

#define LIST_MS 30000
#define CLEAN_UP_MS 10000
#define SNAPSHOTS_MAX 1000000 /* that one list may name */

static int call(struct provider *p, uint16_t type, struct broker_snapshot *message,
                int64_t deadline, struct error *err)
{
	const struct broker_call request = {
	        .type = type,
	        .shape = broker_snapshot_shape,
	        .message = message,
	        .may_repeat = true,
	};

	return broker_client_call(broker_provider_client(p), &request, deadline, err);
}

static int remove_one(struct provider *p, const char *snapshot, int64_t deadline, struct error *err)
{
	return call(p, BROKER_SNAPSHOT_REMOVE, &(struct broker_snapshot){.snapshot = snapshot},
	            deadline, err);
}

static int restore(struct provider *p, const char *sandbox, const char *snapshot, int64_t deadline,
                   struct error *err)
{
	struct broker_snapshot message = {.sandbox = sandbox, .snapshot = snapshot};

	return call(p, BROKER_RESTORE, &message, deadline, err);
}

static int can_restore(struct provider *p, const char *sandbox, const char *snapshot,
                       int64_t deadline, struct error *err)
{
	struct broker_snapshot message = {.sandbox = sandbox, .snapshot = snapshot, .dry = 1};

	return call(p, BROKER_RESTORE, &message, deadline, err);
}

static int take(struct provider *p, const struct provider_snapshot *request, int64_t deadline,
                struct provider_snapshot_made *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_snapshot message = {
	        .sandbox = request->sandbox, .snapshot = request->snapshot, .sync = request->sync};
	struct broker_snapshot_made made;
	const struct broker_call take = {
	        .type = BROKER_SNAPSHOT,
	        .shape = broker_snapshot_shape,
	        .message = &message,
	        .reply_type = BROKER_SNAPSHOT_MADE,
	        .reply_shape = broker_snapshot_made_shape,
	        .reply = &made,
	        .reply_size = sizeof(made),
	        .arena = &a,
	};
	struct error ignored = {0};

	if (broker_client_call(broker_provider_client(p), &take, deadline, err) < 0) {
		/* It may exist all the same, and nobody would ask for it. */
		if (err->code == ERROR_TIMEOUT || err->code == ERROR_UNAVAILABLE)
			(void)!remove_one(p, request->snapshot, deadline_after(CLEAN_UP_MS),
			                  &ignored);
		return -1;
	}
	*ret = (struct provider_snapshot_made){.frozen_us = (int64_t)made.frozen_us,
	                                       .depth = made.depth};
	(void)snprintf(ret->method, sizeof(ret->method), "%s", made.method);
	(void)snprintf(ret->because, sizeof(ret->because), "%s", made.because);
	return 0;
}

static int note(void *context, const void *reply, struct error *err)
{
	struct buf *entries = context;
	const struct broker_entry *from = reply;
	struct provider_entry entry = {.running = false};

	if (!id_is_valid(from->sandbox))
		return FAIL(err, ERROR_SYSTEM, "the broker lists '%s', which is no id",
		            from->sandbox);
	memcpy(entry.id, from->sandbox, ID_SIZE);
	buf_add(entries, &entry, sizeof(entry));
	return 0;
}

static int list_all(struct provider *p, struct arena *a, struct provider_list *ret,
                    struct error *err)
{
	AUTO(buf_done) struct buf entries = BUF(SNAPSHOTS_MAX * sizeof(struct provider_entry));
	struct broker_id message = {.sandbox = ""};
	struct broker_entry entry;
	const struct broker_call list = {
	        .type = BROKER_SNAPSHOT_LIST,
	        .shape = broker_id_shape,
	        .message = &message,
	        .reply_type = BROKER_ENTRY,
	        .reply_shape = broker_entry_shape,
	        .reply = &entry,
	        .reply_size = sizeof(entry),
	        .arena = a,
	        .on_entry = note,
	        .context = &entries,
	};

	if (broker_client_call(broker_provider_client(p), &list, deadline_after(LIST_MS), err) < 0)
		return -1;
	if (entries.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d snapshots", SNAPSHOTS_MAX);
	ret->count = entries.size / sizeof(struct provider_entry);
	ret->entries = ARENA_ARRAY(a, struct provider_entry, ret->count + 1);
	if (ret->count > 0)
		memcpy(ret->entries, entries.data, entries.size);
	return 0;
}

static int memory(struct provider *p, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = ""};
	const struct broker_call ask = {
	        .type = BROKER_MEMORY,
	        .shape = broker_id_shape,
	        .message = &message,
	        .may_repeat = true,
	};

	return broker_client_call(broker_provider_client(p), &ask, deadline, err);
}

static int backup(struct provider *p, const struct provider_backup *request, int64_t deadline,
                  struct error *err)
{
	struct broker_backup message = {
	        .verb = request->verb,
	        .snapshot = request->snapshot,
	        .template_name = request->template_folder,
	        .size_max = (uint64_t)request->size_max,
	        .full = request->full,
	};
	const int fds[] = {request->document_fd, request->archive_fd};
	const struct broker_followed call = {
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
	struct error ignored = {0};

	if (broker_provider_follow(p, &call, err) == 0)
		return 0;
	/* It may exist all the same, and nobody would ask for it. */
	if (request->verb == BROKER_BACKUP_LOAD && err->code != ERROR_CONFLICT)
		(void)!remove_one(p, request->snapshot, deadline_after(CLEAN_UP_MS), &ignored);
	return -1;
}

const struct snapshot_ops broker_snapshots = {
        .take = take,
        .restore = restore,
        .can_restore = can_restore,
        .remove = remove_one,
        .list = list_all,
        .memory = memory,
        .backup = backup,
};
