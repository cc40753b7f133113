/* SPDX-License-Identifier: Apache-2.0 */
/* broker/box.h — the sandboxes of this broker, from a request until nothing is left of them.
 * Private to this folder.
 *
 *   WAITING ──► SETTING_UP ──► RUNNING ──► ENDING ──► gone
 *   for a cell   the agent       its pidfd    killed, not     slot and rests: cleaner
 *                applies steps   is watched   dead yet
 *
 * One that is RUNNING may be paused: nothing inside runs, all else is as before. A pool's box is
 * set up before it has an id, and PREPARED until it is claimed (pool.h): it is RUNNING then.
 * Answers go to `reply`; a box may owe several (a stop and a destroy behind it). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/map.h"
#include "broker/box_egress.h"
#include "broker/cell.h"
#include "broker/chains.h"
#include "broker/event.h"
#include "broker/host.h"
#include "broker/owed.h"
#include "broker/slots.h"
#include "broker/trash.h"
#include "broker/volume.h"
#include "wire/broker.h"

enum box_state { BOX_WAITING, BOX_SETTING_UP, BOX_PREPARED, BOX_RUNNING, BOX_ENDING };

#define BOX_OWED_MAX 4
#define BOX_TEMPLATE_MAX 64
#define BOX_HOSTNAME_MAX 64
#define BOX_STEPS_MAX 512

struct box {
	struct list item; /* in boxes->waiting, or among a pool's */
	struct boxes *boxes;
	struct pool *pool; /* whose it is, until it is claimed */
	bool claiming;     /* just now; should that fail, an ordinary create takes its place */
	/* Files of a prepared one, which the claim completes: its state, and who it is. */
	int state_fd, identity_fds[ISOLATION_IDENTITY_FILES];
	enum box_state state;
	char id[ID_SIZE + 1], owner[ID_SIZE + 1]; /* "" until it is claimed; an owner may stay so */
	uint32_t kind;                            /* enum broker_kind */
	bool internet, privileges, restart, disk_is_advisory;
	char template_name[BOX_TEMPLATE_MAX], hostname[BOX_HOSTNAME_MAX];
	struct cgroup_limits limits;
	uint64_t disk_bytes;
	struct volume_mount *volumes; /* until it runs, as the next two; NULL: none */
	unsigned volume_count;
	struct review *review;
	char *egress; /* as of sandbox/egress.h */
	struct box_cut cut;
	/* once it has a cell */
	struct cell *cell; /* until it runs, and its agent has said so */
	uint32_t slot;
	pid_t pid;
	uint64_t start_time, lease_epoch; /* of the process; of the lease's claim, 0 = none */
	int64_t created_unix_ms;
	int pidfd;
	/* Held, so that process 1 need not take its mounts down before it is dead, which the answer
	 * to a destroy would wait for, and networks end together. The cleaner lets go last. */
	int mounts_fd, net_fd;
	int stored_fd; /* the map of stored files, for its snapshots; -1: to be made anew */
	struct watch process, setup;
	struct timer deadline; /* of the set-up, or of a stop's grace */
	int stop_fd;           /* the connection on which the agent was asked to stop */
	/* box_pause.c */
	bool paused, pausing; /* pausing: asked for, and not everything inside rests */
	struct owed pause_owed;
	struct timer pause_look;
	int64_t pause_look_us, pause_given_us, pause_thaw_us;
	/* box_disk.c: the disk of its own and the volumes that are being mounted for it, or are */
	struct job images_job;
	int images_report_fd, disk_fd, volume_fds[SANDBOX_MOUNTS_MAX];
	void (*on_images)(struct box *box, const struct error *err); /* ERROR_NONE = there */
	uint64_t oom_kills_seen;   /* of its processes, when the broker last looked */
	bool remove_files, failed; /* what ends it, as the rest */
	struct trash_note note;
	struct error failure;
	struct owed owed[BOX_OWED_MAX];
	unsigned owed_count;
	int64_t asked_us, step_us; /* the create's clock */
	struct buf steps;
};

struct boxes {
	struct host *host;
	struct events *events;
	struct slots *slots;
	struct cell_pool *cells;
	struct chains *chains;
	struct pools *pools;
	struct map by_id;
	struct list waiting[CELL_KIND_COUNT];
	/* answers */
	void (*on_created)(void *context, const struct owed *owed, const struct broker_created *m);
	void (*on_done)(void *context, const struct owed *owed);
	void (*on_failed)(void *context, const struct owed *owed, const struct error *err);
	void (*on_ended)(void *context, const char *id, uint32_t reason);
	/* To be cleaned up. The descriptors are the callee's. */
	void (*on_slot_free)(void *context, const struct remains *remains);
	/* Its processes are dead; whatever else is under way about it is to end now. */
	void (*on_burial)(void *context, const char *id);
	/* Whether its files are in somebody else's hands just now. */
	bool (*is_busy)(void *context, const char *id);
	void *context;
};

void boxes_init(struct boxes *b, struct host *host, struct events *events, struct slots *slots,
                struct cell_pool *cells);
/* Whether a create has to wait for a cell. */
bool boxes_are_waiting(const struct boxes *b);
/* Lets go of everything; the sandboxes live on. */
void boxes_close(struct boxes *b);
/* In box_adopt.c. From the run folders: adopts what lives, puts away what does not. */
MUST_CHECK int boxes_adopt(struct boxes *b, struct error *err);
/* BROKER_CREATE and BROKER_START, checked by the caller; the answer comes later unless it fails. */
MUST_CHECK int boxes_create(struct boxes *b, const struct owed *owed,
                            const struct broker_create *request, bool restart, struct error *err);
/* BROKER_STOP (grace first) and BROKER_DESTROY (at once). `note`: files to the trash; NULL: gone.
 */
MUST_CHECK int boxes_stop(struct boxes *b, const struct owed *owed, const char *id,
                          uint64_t grace_ms, struct error *err);
MUST_CHECK int boxes_destroy(struct boxes *b, const struct owed *owed, const char *id,
                             const struct trash_note *note, struct error *err);
void boxes_end_all(struct boxes *b); /* kills them, and keeps their files */
/* A maker has ended: whoever waits for such a cell gets it, or the error. */
void boxes_on_cell(struct boxes *b, enum cell_kind kind, const struct error *err);
MUST_CHECK int boxes_usage(struct boxes *b, const char *id, struct broker_usage *ret,
                           struct error *err);
struct box *boxes_find(const struct boxes *b, const char *id);

/* ---- in box_setup.c ---- */

/* Limits, files, the plan to the agent; then the box waits for its word. */
MUST_CHECK int box_set_up(struct box *box, struct error *err);
/* The agent's word: 0 = ready. */
MUST_CHECK int box_take_answer(struct box *box, struct error *err);
/* Names that last: files, run folder, state. */
MUST_CHECK int box_settle(struct box *box, struct error *err);
/* A part of that, which a prepared one has behind it: what the next broker must know. */
MUST_CHECK int box_write_notes(struct box *box, struct error *err);
/* "name=µs " since the last call. */
void box_step(struct box *box, const char *name);

/* ---- in box_state.c ---- */

/* And keeps it open, for box_state_update. */
MUST_CHECK int box_state_write(struct box *box, int folder, struct error *err);
MUST_CHECK int box_state_update(const struct box *box, struct error *err);
/* Fails when the text is malformed, of another boot, or its process is gone. */
MUST_CHECK int box_state_read(struct box *box, int folder, struct error *err);
/* Pure: the text to the fields. */
MUST_CHECK int box_state_parse(struct box *box, const char *text, char boot_id[64],
                               struct error *err);

/* ---- in box_disk.c ---- */

/* Whether something has to be mounted for it that takes a child. */
bool box_wants_images(const struct box *box);
/* Calls on_images later: its disk and all its volumes are open then. Uses the deadline. */
MUST_CHECK int box_images_start(struct box *box, struct error *err);
/* Bytes, or UINT64_MAX when not known. */
uint64_t box_disk_used(const struct box *box);

MUST_CHECK int box_files_remove(struct boxes *b, const char *id, const struct trash_note *note,
                                struct error *err);           /* in box_files.c */
MUST_CHECK int box_claim(struct box *box, struct error *err); /* box_claim.c: a prepared one */

/* ---- in box.c, for pools and for adoption ---- */

struct box *box_new(struct boxes *b, const char *id);
/* The box only; what it stands for is somebody else's by now. */
void box_free(struct box *box);
/* Goes on with a cell, in this list; NULL: in none. A failure ends the box, or its pool is told. */
void box_begin(struct box *box, struct cell *cell, struct list *list);
void box_kill(struct box *box);
void box_note_oom_kills(struct box *box); /* those until now are no reason for its end */
void box_bury_unnamed(struct box *box);   /* waits for its end, which has begun */

/* ---- in box_pause.c, and the first two, for BROKER_LIMIT, in box_limit.c ---- */

struct cgroup_limits box_limits_of(const struct broker_create *request);
MUST_CHECK int boxes_limit(struct boxes *b, const char *id, const struct cgroup_limits *wanted,
                           struct error *err);
/* BROKER_PAUSE, which answers later unless it fails, and BROKER_RESUME. Fine when it is so. */
MUST_CHECK int boxes_pause(struct boxes *b, const struct owed *owed, const char *id,
                           struct error *err);
MUST_CHECK int boxes_resume(struct boxes *b, const struct owed *owed, const char *id,
                            struct error *err);
/* It is about to end: what is frozen can neither answer nor die. A pause under way fails. */
void box_thaw(struct box *box);
/* Whether it was paused when its last broker left it. */
void box_find_paused(struct box *box);

/* In box_host.c. BROKER_HOST: a process group and no isolation, for development by one user. */
MUST_CHECK int box_start_host(struct box *box, struct error *err);
