/* SPDX-License-Identifier: Apache-2.0 */
/* broker/state.h — the whole broker. Private to this folder. */
#pragma once

#include "broker/box.h"
#include "broker/box_beat.h"
#include "broker/cell.h"
#include "broker/disk_watch.h"
#include "broker/event.h"
#include "broker/flatten.h"
#include "broker/guard.h"
#include "broker/host.h"
#include "broker/pool.h"
#include "broker/slots.h"
#include "broker/snapshot.h"
#include "broker/trash_room.h"

#define CLEANER_BATCH 256
#define CLEANER_WAITING_MAX (2 * SLOTS_MAX)
#define TEMPLATE_TASKS_MAX 80 /* more than the api process works on at once: fleet/work_lane.h */

/* Cleans up behind sandboxes, in children, several sandboxes at a time. */
struct cleaner {
	struct broker_child child;
	struct timer soon;
	bool scheduled, running;
	unsigned begun;     /* runs, ever */
	int64_t since_ms;   /* when it was scheduled */
	struct buf waiting; /* of struct remains; see cleaner_add */
	struct cleanup_item at_work[CLEANER_BATCH];
	unsigned at_work_count;
	unsigned keep_count; /* of the first of at_work the groups may be used again */
	int begin[2];        /* closed by the broker when the child is the last to let go */
};

struct broker_server {
	struct fd_watch listening;
	int listen_fd;
	struct list connections;
	uint64_t last_serial;
};

/* See memory.c. */
struct memory_probe {
	struct broker_child child;
	bool is_running, is_known;
	struct error found; /* ERROR_NONE: it works */
	int report_fd;
	struct pending_reply waiting[16];
	unsigned waiting_count;
};

/* See measure_job.c; one at a time. */
struct measuring {
	struct broker_child child;
	struct pending_reply reply;
	bool is_running;
	enum broker_measured_kind kind;
	char id[ID_SIZE + 1];
	int report_fd;
};

struct broker {
	struct host host;
	struct events events;
	struct slots slots;
	struct prewarm_pool prewarm_pool;
	struct sandboxes sandboxes;
	struct beats beats;
	struct prepared_pools pools;
	struct layer_stacks stacks;
	struct snapshots snapshots;
	struct flattening flattening;
	struct cleaner cleaner;
	struct broker_server server;
	struct rule_guard guard;
	struct list templates; /* running builders */
	struct list volumes;   /* running makers and lookers */
	struct list backups;   /* running packers and unpackers */
	struct memory_probe memory;
	bool is_swept; /* of what earlier ones left */
	struct measuring measuring;
	struct disk_watch disk;
	struct trash_room room;
	struct fd_watch signals;
	int signal_fd;
	int instance_fd; /* see instances.h */
};

/* ---- sweep.c ---- */

/* Removes every resource on this host that is in our chunks and has no living owner. */
void broker_sweep(struct broker *b);
/* The slot's rests are to be removed; then it is free again. SLOT_NONE: only the trash, and to let
 * go of the descriptor, which is the callee's. */
/* Its descriptors are the cleaner's now. */
void cleaner_add(struct broker *b, const struct cleanup_item *item);
/* There is something in the trash. */
void cleaner_wake(struct broker *b);
/* In a child: lets go of mounts that wait for a later cleaner. */
void cleaner_forget(struct broker *b);
/* Does at once what the cleaner has to do: the broker ends. */
void cleaner_finish(struct broker *b);
bool chunk_is_alive(void *context, uint32_t first_slot);
void chunk_on_claim(void *context, uint32_t first_slot);

/* ---- server.c ---- */

MUST_CHECK int server_open(struct broker *b, struct error *err);
void server_close(struct broker *b);
/* In a child: only closes its copies. */
void server_forget(struct broker *b);
/* To the connection with this serial number, if it is still there. */
void server_send(struct broker *b, uint64_t connection, uint16_t type,
                 const struct wire_member *shape, const void *message);
/* To all. */
void server_send_all(struct broker *b, uint16_t type, const struct wire_member *shape,
                     const void *message);
void server_send_failure(struct broker *b, const struct pending_reply *reply,
                         const struct error *err);

/* ---- requests.c ---- */

/* One packet of atolld. The descriptors are closed by the callee. A malformed one is an error: the
 * connection ends. */
MUST_CHECK int broker_dispatch(struct broker *b, uint64_t connection, struct span packet,
                               struct wire_fds *fds, struct error *err);

/* ---- template.c ---- */

MUST_CHECK int template_start(struct broker *b, const struct pending_reply *reply,
                              const struct broker_template *request, struct wire_fds *fds,
                              struct error *err);
void templates_kill(struct broker *b);

/* ---- volume_jobs.c ---- */

/* BROKER_VOLUME; the answer comes later unless it fails. */
MUST_CHECK int volume_start(struct broker *b, const struct pending_reply *reply,
                            const struct broker_volume *request, struct error *err);
/* Whether one is going into this sandbox, or out of it. */
bool volume_tasks_include(const struct broker *b, const char *sandbox_id);

/* ---- memory.c ---- */

/* BROKER_MEMORY; the answer may come later. */
MUST_CHECK int memory_ask(struct broker *b, const struct pending_reply *reply, struct error *err);

/* ---- measure_job.c ---- */

/* BROKER_MEASURE; the answer comes later unless it fails. */
MUST_CHECK int measure_start(struct broker *b, const struct pending_reply *reply,
                             const struct broker_measure *request, struct error *err);

/* ---- backup.c ---- */

/* BROKER_BACKUP; the answer comes later unless it fails. */
MUST_CHECK int backup_start(struct broker *b, const struct pending_reply *reply,
                            const struct broker_backup *request, struct wire_fds *fds,
                            struct error *err);
void backups_kill(struct broker *b);
