/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox.h — the sandboxes of this broker, from a request until nothing is left of them.
 * Private to this folder.
 *
 *   WAITING ──► SETTING_UP ──► RUNNING ──► ENDING ──► gone
 *   for a prewarmed sandbox   the agent       its pidfd    killed, not     slot and rests: cleaner
 *                applies steps   is watched   dead yet
 *
 * One that is RUNNING may be paused: nothing inside runs, all else is as before. A pool's sandbox
 * is set up before it has an id, and PREPARED until it is claimed (pool.h): it is RUNNING then.
 * Answers go to `reply`; a sandbox may owe several (a stop and a destroy behind it). */
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

enum sandbox_phase {
	SANDBOX_WAITING,
	SANDBOX_SETTING_UP,
	SANDBOX_PREPARED,
	SANDBOX_RUNNING,
	SANDBOX_ENDING
};

#define SANDBOX_REPLIES_MAX 4
#define SANDBOX_TEMPLATE_MAX 64
#define SANDBOX_HOSTNAME_MAX 64
#define SANDBOX_STEPS_MAX 512

struct sandbox {
	struct list item; /* in sandboxes->waiting, or among a pool's */
	struct sandboxes *sandboxes;
	struct prepared_pool *pool; /* whose it is, until it is claimed */
	bool claiming; /* just now; should that fail, an ordinary create takes its place */
	/* Files of a prepared one, which the claim completes: its state, and who it is. */
	int state_fd, identity_fds[ISOLATION_IDENTITY_FILES];
	enum sandbox_phase phase;
	char id[ID_SIZE + 1], owner[ID_SIZE + 1]; /* "" until it is claimed; an owner may stay so */
	uint32_t kind;                            /* enum broker_kind */
	bool internet, privileges, restart, disk_is_advisory;
	char template_name[SANDBOX_TEMPLATE_MAX], hostname[SANDBOX_HOSTNAME_MAX];
	struct cgroup_limits limits;
	uint64_t disk_bytes;
	struct mounted_volume *volumes; /* until it runs, as the next two; NULL: none */
	unsigned volume_count;
	struct layer_review *review;
	char *egress; /* as of sandbox/egress.h */
	struct egress_cut cut;
	/* once it has a prewarmed sandbox */
	struct prewarm *prewarm; /* until it runs, and its agent has said so */
	uint32_t slot;
	pid_t pid;
	uint64_t start_time, lease_epoch; /* of the process; of the lease's claim, 0 = none */
	int64_t created_unix_ms;
	int pidfd;
	/* Held, so that process 1 need not take its mounts down before it is dead, which the answer
	 * to a destroy would wait for, and networks end together. The cleaner lets go last. */
	int mounts_fd, net_fd;
	int stored_fd; /* the map of stored files, for its snapshots; -1: to be made anew */
	struct fd_watch process, setup;
	struct timer deadline; /* of the set-up, or of a stop's grace */
	int stop_fd;           /* the connection on which the agent was asked to stop */
	/* box_pause.c */
	bool paused, pausing; /* pausing: asked for, and not everything inside rests */
	struct pending_reply pause_reply;
	struct timer pause_look;
	int64_t pause_look_us, pause_given_us, pause_thaw_us;
	/* box_disk.c: the disk of its own and the volumes that are being mounted for it, or are */
	struct broker_child images_child;
	int images_report_fd, disk_fd, volume_fds[SANDBOX_MOUNTS_MAX];
	void (*on_images)(struct sandbox *sandbox,
	                  const struct error *err); /* ERROR_NONE = there */
	uint64_t oom_kills_seen;   /* of its processes, when the broker last looked */
	bool remove_files, failed; /* what ends it, as the rest */
	struct trash_note note;
	struct error failure;
	struct pending_reply replies[SANDBOX_REPLIES_MAX];
	unsigned reply_count;
	int64_t asked_us, step_us; /* the create's clock */
	struct buf steps;
};

struct sandboxes {
	struct host *host;
	struct events *events;
	struct slots *slots;
	struct prewarm_pool *prewarm_pool;
	struct layer_stacks *stacks;
	struct prepared_pools *pools;
	struct map by_id;
	struct list waiting[PREWARM_KIND_COUNT];
	/* answers */
	void (*on_created)(void *context, const struct pending_reply *reply,
	                   const struct broker_created *m);
	void (*on_done)(void *context, const struct pending_reply *reply);
	void (*on_failed)(void *context, const struct pending_reply *reply,
	                  const struct error *err);
	void (*on_ended)(void *context, const char *id, uint32_t reason);
	/* To be cleaned up. The descriptors are the callee's. */
	void (*on_slot_free)(void *context, const struct cleanup_item *item);
	/* Its processes are dead; whatever else is under way about it is to end now. */
	void (*on_burial)(void *context, const char *id);
	/* Whether its files are in somebody else's hands just now. */
	bool (*is_busy)(void *context, const char *id);
	void *context;
};

void sandboxes_init(struct sandboxes *b, struct host *host, struct events *events,
                    struct slots *slots, struct prewarm_pool *prewarm_pool);
/* Whether a create has to wait for a prewarmed sandbox. */
bool sandboxes_are_waiting(const struct sandboxes *b);
/* Lets go of everything; the sandboxes live on. */
void sandboxes_close(struct sandboxes *b);
/* In box_adopt.c. From the run folders: adopts what lives, puts away what does not. */
MUST_CHECK int sandboxes_adopt(struct sandboxes *b, struct error *err);
/* BROKER_CREATE and BROKER_START, checked by the caller; the answer comes later unless it fails. */
MUST_CHECK int sandboxes_create(struct sandboxes *b, const struct pending_reply *reply,
                                const struct broker_create *request, bool restart,
                                struct error *err);
/* BROKER_STOP (grace first) and BROKER_DESTROY (at once). `note`: files to the trash; NULL: gone.
 */
MUST_CHECK int sandboxes_stop(struct sandboxes *b, const struct pending_reply *reply,
                              const char *id, uint64_t grace_ms, struct error *err);
MUST_CHECK int sandboxes_destroy(struct sandboxes *b, const struct pending_reply *reply,
                                 const char *id, const struct trash_note *note, struct error *err);
void sandboxes_end_all(struct sandboxes *b); /* kills them, and keeps their files */
/* A maker has ended: whoever waits for such a prewarmed sandbox gets it, or the error. */
void sandboxes_on_prewarm(struct sandboxes *b, enum prewarm_kind kind, const struct error *err);
MUST_CHECK int sandboxes_usage(struct sandboxes *b, const char *id, struct broker_usage *ret,
                               struct error *err);
struct sandbox *sandboxes_find(const struct sandboxes *b, const char *id);

/* ---- in box_setup.c ---- */
/* Limits, files, the plan to the agent; then the sandbox waits for its word. */
MUST_CHECK int sandbox_send_plan(struct sandbox *sandbox, struct error *err);
/* The agent's word: 0 = ready. */
MUST_CHECK int sandbox_take_answer(struct sandbox *sandbox, struct error *err);
/* Names that last: files, run folder, state. */
MUST_CHECK int sandbox_publish(struct sandbox *sandbox, struct error *err);
/* A part of that, which a prepared one has behind it: what the next broker must know. */
MUST_CHECK int sandbox_write_notes(struct sandbox *sandbox, struct error *err);
/* "name=µs " since the last call. */
void sandbox_step(struct sandbox *sandbox, const char *name);

/* ---- in box_disk.c ---- */
/* Whether something has to be mounted for it that takes a child. */
bool sandbox_wants_images(const struct sandbox *sandbox);
/* Calls on_images later: its disk and all its volumes are open then. Uses the deadline. */
MUST_CHECK int sandbox_images_start(struct sandbox *sandbox, struct error *err);
/* Bytes, or UINT64_MAX when not known. */
uint64_t sandbox_disk_used(const struct sandbox *sandbox);

MUST_CHECK int sandbox_files_remove(struct sandboxes *b, const char *id,
                                    const struct trash_note *note,
                                    struct error *err); /* in box_files.c */
MUST_CHECK int sandbox_claim(struct sandbox *sandbox,
                             struct error *err); /* box_claim.c: a prepared one */

/* ---- in sandbox.c, for pools and for adoption ---- */
struct sandbox *sandbox_new(struct sandboxes *b, const char *id);
void sandbox_free(struct sandbox *sandbox);
/* Goes on with a prewarmed sandbox, in this list; NULL: in none. A failure ends the sandbox, or its
 * pool is told. */
void sandbox_begin_set_up(struct sandbox *sandbox, struct prewarm *prewarm, struct list *list);
void sandbox_kill(struct sandbox *sandbox);
void sandbox_note_oom_kills(
        struct sandbox *sandbox);                   /* those until now are no reason for its end */
void sandbox_reap_unnamed(struct sandbox *sandbox); /* waits for its end, which has begun */

/* ---- in box_pause.c, and the first two, for BROKER_LIMIT, in box_limit.c ---- */

struct cgroup_limits sandbox_limits_of(const struct broker_create *request);
MUST_CHECK int sandboxes_limit(struct sandboxes *b, const char *id,
                               const struct cgroup_limits *wanted, struct error *err);
/* BROKER_PAUSE, which answers later unless it fails, and BROKER_RESUME. Fine when it is so. */
MUST_CHECK int sandboxes_pause(struct sandboxes *b, const struct pending_reply *reply,
                               const char *id, struct error *err);
MUST_CHECK int sandboxes_resume(struct sandboxes *b, const struct pending_reply *reply,
                                const char *id, struct error *err);
/* It is about to end: what is frozen can neither answer nor die. A pause under way fails. */
void sandbox_thaw(struct sandbox *sandbox);
/* Whether it was paused when its last broker left it. */
void sandbox_find_paused(struct sandbox *sandbox);

MUST_CHECK int sandbox_start_host(struct sandbox *sandbox, struct error *err);
