/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/sandbox.h — a sandbox, from a request until nothing is left of it.
 *
 *   WAITING ──► SETTING_UP ──► RUNNING ──► ENDING ──► gone
 *   for a prewarmed  the agent       its pidfd     it is killed,  the cleaner gets the slot
 *   sandbox          applies steps   is watched    not dead yet   and its descriptors
 *
 * A RUNNING sandbox may be paused: nothing inside runs. A sandbox of a pool (pool.h) is set up
 * before it has an id and is PREPARED until a create claims it; then it is RUNNING. Several
 * requests may wait for one sandbox, such as a stop and a destroy behind it (`replies`). */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/id.h"
#include "broker/host/event.h"
#include "isolation/cgroups.h"

#define SANDBOX_REPLIES_MAX 4
#define SANDBOX_TEMPLATE_MAX 64
#define SANDBOX_HOSTNAME_MAX 64
#define SANDBOX_STEPS_SIZE 512

struct egress_cut;
struct layer_review;
struct layer_stack;
struct mounted_volume;
struct prepared_pool;
struct prewarm;
struct sandbox_images;
struct sandboxes;
struct trash_note;
struct wire_fds;

enum sandbox_phase {
	SANDBOX_WAITING,
	SANDBOX_SETTING_UP,
	SANDBOX_PREPARED,
	SANDBOX_RUNNING,
	SANDBOX_ENDING,
};

struct sandbox {
	struct list item; /* in sandboxes->waiting, or in a list of its pool */
	struct sandboxes *sandboxes;
	struct prepared_pool *pool; /* until it is claimed */
	bool claiming;              /* if the claim fails, an ordinary create replaces it */
	/* Files of a prepared sandbox that the claim completes: its state and its identity. */
	int state_fd;
	struct wire_fds *identity_files; /* NULL: none */
	enum sandbox_phase phase;
	char id[ID_SIZE + 1];    /* "" until it is claimed */
	char owner[ID_SIZE + 1]; /* an id from atolld, for BROKER_ENTRY; may be "" */
	uint32_t kind;           /* enum broker_kind */
	bool internet, privileges, restart, disk_is_advisory;
	bool has_kvm; /* its /dev has kvm */
	char template_name[SANDBOX_TEMPLATE_MAX];
	char hostname[SANDBOX_HOSTNAME_MAX];
	struct cgroup_limits limits;
	uint64_t disk_bytes;
	/* Until it runs; NULL: none. */
	struct mounted_volume *volumes;
	unsigned volume_count;
	struct layer_review *review;
	char *egress; /* rules as text, see sandbox/egress.h; NULL: none */
	/* Connections may still leave by this source address, which the rules do not name any more;
	 * NETWORK_LEFT_BY_ANY: by an unknown one, or several; 0: by none. */
	uint32_t left_by;
	bool has_left_by_source; /* in the run folder: connections may leave by a source address */
	struct egress_cut *cut;  /* egress.c; NULL: the rules have never been changed */

	/* Once it has a prewarmed sandbox: */
	struct prewarm *prewarm; /* until the agent has reported that it runs */
	uint32_t slot;
	pid_t pid;
	uint64_t start_time;  /* of the process */
	uint64_t lease_epoch; /* of the lease that claimed it; 0: none */
	int64_t created_unix_ms;
	int pidfd;
	/* Held, so that process 1 does not have to take its mounts down before it is dead (the
	 * reply to a destroy would wait for that), and so that networks end together. The cleaner
	 * closes them last. */
	int mounts_fd, net_fd;
	int stored_fd; /* the map of stored files, for snapshots; -1: a snapshot makes it anew */
	struct fd_watch process, setup;
	struct timer deadline; /* of the set-up, or of the grace of a stop */
	int stop_fd;           /* the connection on which the agent was asked to stop */

	/* pause.c */
	bool paused;
	bool pausing; /* a pause was requested, and something inside still runs */
	struct pending_reply pause_reply;
	struct timer pause_look;
	int64_t pause_look_us, pause_given_us, pause_thaw_us;

	/* disk.c: the sandbox's own disk and its volumes */
	struct sandbox_images *images; /* NULL: no child mounts them */
	int disk_fd;
	void (*on_images)(struct sandbox *sandbox, const struct error *err); /* ERROR_NONE: open */

	/* Its end: */
	uint64_t
	        oom_kills_seen; /* processes that the kernel had killed at the broker's last look */
	bool remove_files;      /* as `note` says */
	bool failed;            /* the create failed, by `failure` */
	struct error failure;
	struct trash_note *note; /* NULL: they are deleted */
	struct pending_reply replies[SANDBOX_REPLIES_MAX];
	unsigned reply_count;
	/* The clock of a create: */
	int64_t asked_us, step_us;
	char steps[SANDBOX_STEPS_SIZE];
};

struct sandbox *sandbox_new(struct sandboxes *b, const char *id);
/* Frees the record only; processes, files and slot must have another owner by then. */
void sandbox_free(struct sandbox *sandbox);
/* Sets the sandbox up in this prewarmed one and appends it to `list` unless that is NULL. A failure
 * ends the sandbox, or is reported to its pool. */
void sandbox_begin_set_up(struct sandbox *sandbox, struct prewarm *prewarm, struct list *list);
void sandbox_kill(struct sandbox *sandbox);
/* Ends every process of its cgroups. */
void sandbox_remove_group(struct sandbox *sandbox);
/* The kernel's kills until now will not be reported as the reason of the sandbox's end. */
void sandbox_note_oom_kills(struct sandbox *sandbox);
/* Waits for the end, which has begun, of process 1. All zeros when it is not a child of this broker
 * and its atoll-launch. */
void sandbox_reap(const struct sandbox *sandbox, siginfo_t *ret);
/* The same of a sandbox without an id, and frees it. */
void sandbox_reap_unnamed(struct sandbox *sandbox);
/* Before the agent runs anything: ends the sandbox, because its create fails. */
void sandbox_fail_create(struct sandbox *sandbox, const struct error *err);
/* Hands the slot and the namespaces to the cleaner. */
void sandbox_hand_to_cleaner(struct sandbox *sandbox);
void sandbox_close_identity_files(struct sandbox *sandbox);
/* Adds a request that waits for this sandbox. */
void sandbox_add_reply(struct sandbox *sandbox, const struct pending_reply *reply);
/* Adds "NAME=µs", the time since the last call, to the create's log. */
void sandbox_step(struct sandbox *sandbox, const char *name);
/* mounts.c: the layers below the sandbox's own files; NULL: only its template. */
const struct layer_stack *sandbox_stack_of(const struct sandbox *sandbox);

/* limit.c: what it has sent since its start; UINT64_MAX: not known. Its link goes with its network
 * namespace, some time after its last process. */
uint64_t sandbox_sent_bytes(const struct sandbox *sandbox);
