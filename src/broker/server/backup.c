/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_BACKUP: the broker starts atoll-image to pack and unpack snapshots, because that needs
 * root. An unpacked snapshot is a single layer. It becomes a snapshot when it is marked as kept
 * (layers/stacks.h), so an interrupted one is swept like any layer that no stack names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/launcher.h"
#include "broker/server/images.h"
#include "broker/server/state.h"
#include "wire/broker_backup.h"

struct wire_fds;

/* More than the api process works on at once (fleet/core/work_lane.h), which shares them among
 * projects.
 */
#define BACKUP_TASKS_MAX 8
#define FDS_COUNT 3
#define LAYERS_TEXT_MAX (LAYER_STACK_MAX * (ID_SIZE + 1) + 1)

struct backup_task {
	struct list item;
	struct broker_child child;
	struct broker *broker;
	struct pending_reply reply;
	uint32_t verb;
	uint64_t size_max;
	bool full;
	char snapshot[ID_SIZE + 1];
	char template_name[64];
	struct id user; /* the user of the layers, see layers/stacks.h */
	struct layer_stack stack;
	int fds[FDS_COUNT]; /* progress, document, archive */
};

static void backup_free(struct backup_task *b)
{
	layer_stacks_set(&b->broker->stacks, b->user.text, NULL);
	list_remove(&b->item);
	for (unsigned i = 0; i < FDS_COUNT; i++)
		fd_forget(&b->fds[i]);
	free(b);
}

static int make_layer_folder(const struct host *host, const char *id, struct error *err)
{
	int folder = host->folders[FOLDER_SNAPSHOTS];
	char path[64];

	if (mkdirat(folder, id, 0755) < 0)
		return FAIL_ERRNO(err, "make the folder of snapshot '%s'", id);
	(void)snprintf(path, sizeof(path), "%s/upper", id);
	if (mkdirat(folder, path, 0755) < 0 ||
	    fchownat(folder, path, ID_STORED, ID_STORED, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	return 0;
}

static void list_layers(const struct backup_task *b, char out[LAYERS_TEXT_MAX])
{
	size_t size = 0;

	(void)snprintf(out, LAYERS_TEXT_MAX, "%s", b->snapshot);
	for (unsigned i = 0; i < b->stack.count; i++)
		size += (size_t)snprintf(out + size, LAYERS_TEXT_MAX - size, "%s%s",
		                         i > 0 ? " " : "", b->stack.ids[i]);
}

/* atoll-launch starts it: layers take every privilege. */
static int start_image(struct backup_task *b, struct error *err)
{
	static const char *const verbs[] = {[BROKER_BACKUP_EXPORT] = "export",
	                                    [BROKER_BACKUP_LOAD] = "load",
	                                    [BROKER_BACKUP_VERIFY] = "verify"};
	const struct host *host = &b->broker->host;
	char layers[LAYERS_TEXT_MAX], owner[16], size_max[32];
	const char *words[] = {verbs[b->verb],
	                       "--progress-fd",
	                       "3",
	                       "--document-fd",
	                       "4",
	                       "--archive-fd",
	                       "5",
	                       "--snapshots-fd",
	                       "6",
	                       "--templates-fd",
	                       "7",
	                       "--template",
	                       b->template_name,
	                       "--layers",
	                       layers,
	                       "--owner-first",
	                       owner,
	                       "--size-max",
	                       size_max,
	                       "--full"};
	struct program program = {
	        .kind = TASK_IMAGE, .count = COUNT_OF(words) - (b->full ? 0 : 1), .words = words};

	list_layers(b, layers);
	(void)snprintf(owner, sizeof(owner), "%u", ID_STORED);
	(void)snprintf(size_max, sizeof(size_max), "%llu", (unsigned long long)b->size_max);
	for (unsigned i = 0; i < FDS_COUNT; i++)
		program_hand_on(&program, b->fds[i], 3 + i);
	program_hand_on(&program, host->folders[FOLDER_SNAPSHOTS], 3 + FDS_COUNT);
	program_hand_on(&program, host->folders[FOLDER_TEMPLATES], 4 + FDS_COUNT);
	return child_start_program(&b->broker->events, &b->child, &program, err);
}

static int begin_backup(struct backup_task *b, struct error *err)
{
	struct host *host = &b->broker->host;
	struct error ignored = {0};

	if (b->verb == BROKER_BACKUP_LOAD && make_layer_folder(host, b->snapshot, err) < 0)
		return -1;
	fault_point("broker", "backup-begun");
	if (start_image(b, err) == 0)
		return 0;
	if (b->verb == BROKER_BACKUP_LOAD)
		(void)!host_trash(host, FOLDER_SNAPSHOTS, b->snapshot, &ignored);
	return -1;
}

/* The folder tells what has happened, whatever the exit status is. */
static int adopt_layer(struct backup_task *b, int status, struct error *err)
{
	struct host *host = &b->broker->host;
	struct error ignored = {0};

	fault_point("broker", "backup-loaded");
	if (status == 0 && layer_stacks_add(&b->broker->stacks, b->snapshot, err) == 0)
		return 0;
	(void)!host_trash(host, FOLDER_SNAPSHOTS, b->snapshot, &ignored);
	cleaner_wake(b->broker);
	return -1;
}

static void on_image_end(struct broker_child *child, int status)
{
	struct backup_task *b = CONTAINER_OF(child, struct backup_task, child);
	struct error err = {0};

	if (status != 0)
		(void)FAIL(&err, ERROR_SYSTEM, "work on a backup ended with status %d", status);
	if (b->verb == BROKER_BACKUP_LOAD && adopt_layer(b, status, &err) < 0)
		status = -1;
	if (status == 0)
		server_send_ok(b->broker, &b->reply);
	else
		server_send_failure(b->broker, &b->reply, &err);
	backup_free(b);
}

static int check_start(struct broker *b, const struct broker_backup *request,
                       const struct wire_fds *fds, struct error *err)
{
	unsigned count = 0;

	LIST_EACH (&b->backups, const struct backup_task, other, item) {
		if (other->verb == BROKER_BACKUP_LOAD &&
		    strcmp(other->snapshot, request->snapshot) == 0)
			return FAIL(err, ERROR_CONFLICT, "snapshot '%s' is being loaded already",
			            request->snapshot);
		count++;
	}
	if (count == BACKUP_TASKS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%d backups are being worked on already",
		            BACKUP_TASKS_MAX);
	if (fds->count != FDS_COUNT)
		return FAIL(err, ERROR_INVALID, "a backup comes with %u descriptors, not %d",
		            fds->count, FDS_COUNT);
	if (request->verb != BROKER_BACKUP_LOAD)
		return 0;
	if (faccessat(b->host.folders[FOLDER_SNAPSHOTS], request->snapshot, F_OK,
	              AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(err, ERROR_CONFLICT, "snapshot '%s' exists already", request->snapshot);
	return host_check_space(&b->host, err);
}

/* Keeps the layers in use while they are packed. */
static int hold_layers(struct backup_task *b, struct error *err)
{
	if (b->verb != BROKER_BACKUP_EXPORT)
		return 0;
	if (layer_stacks_find(&b->broker->stacks, b->snapshot, &b->stack, err) < 0)
		return -1;
	layer_stacks_set(&b->broker->stacks, b->user.text, &b->stack);
	return 0;
}

int backup_start(const struct request_context *c, const void *message, struct error *err)
{
	const struct broker_backup *request = message;
	struct broker *broker = c->broker;
	struct backup_task *b;

	if (check_start(broker, request, c->fds, err) < 0)
		return -1;
	b = memory_new(sizeof(*b));
	*b = (struct backup_task){.broker = broker,
	                          .reply = c->reply,
	                          .verb = request->verb,
	                          .size_max = request->size_max,
	                          .full = request->full,
	                          .user = id_new(),
	                          .child = {.on_end = on_image_end, .host = &broker->host}};
	(void)snprintf(b->snapshot, sizeof(b->snapshot), "%s", request->snapshot);
	(void)snprintf(b->template_name, sizeof(b->template_name), "%s", request->template_name);
	for (unsigned i = 0; i < FDS_COUNT; i++)
		b->fds[i] = c->fds->fds[i];
	c->fds->count = 0;
	list_append(&broker->backups, &b->item);
	if (hold_layers(b, err) < 0 || begin_backup(b, err) < 0) {
		backup_free(b);
		return -1;
	}
	/* Only the child keeps them open, so atolld learns from their end that the child has ended.
	 */
	for (unsigned i = 0; i < FDS_COUNT; i++)
		fd_forget(&b->fds[i]);
	return 0;
}

void backups_kill(struct broker *b)
{
	LIST_EACH (&b->backups, struct backup_task, task, item)
		(void)kill(-task->child.pid, SIGTERM);
}
