/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/sandbox.h — what a sandbox is, and the rules about it: no I/O, no clock of its own.
 *
 * The desired state is what somebody asked for, the actual state is what the provider reported
 * last. A state changes only along the table in states.c, through store_sandbox_move. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/id.h"
#include "base/span.h"

/* Both desired and actual. Names in the API are the lower-case words. */
enum sandbox_state {
	SANDBOX_PENDING,  /* recorded, nothing made yet */
	SANDBOX_CREATING, /* a provider is making it */
	SANDBOX_STARTED,  /* takes commands */
	SANDBOX_PAUSED, /* its processes are frozen, their memory is kept; its next use wakes it */
	SANDBOX_STOPPING,
	SANDBOX_STOPPED,  /* its files are kept, nothing runs */
	SANDBOX_ARCHIVED, /* its files are in the blob store; a start brings them back */
	SANDBOX_DELETING,
	SANDBOX_DELETED,
	SANDBOX_FAILED, /* see last_event; may be deleted */
	SANDBOX_STATE_COUNT,
};
const char *sandbox_state_name(enum sandbox_state state);
MUST_CHECK int sandbox_state_parse(const char *name, enum sandbox_state *ret, struct error *err);
bool sandbox_state_can_move(enum sandbox_state from, enum sandbox_state to);

/* Why it ended. */
enum sandbox_reason {
	SANDBOX_REASON_NONE,
	SANDBOX_REASON_USER,
	SANDBOX_REASON_IDLE,
	SANDBOX_REASON_LIFETIME,
	SANDBOX_REASON_OOM,       /* the kernel killed its agent for memory */
	SANDBOX_REASON_EXIT,      /* its agent ended */
	SANDBOX_REASON_HOST_LOST, /* gone when we looked (a reboot) */
	SANDBOX_REASON_ERROR,
	SANDBOX_REASON_BUDGET, /* what it may cost is spent */
	SANDBOX_REASON_DISK,   /* it has more on the disk than it may: a pause, and no end */
	SANDBOX_REASON_COUNT,
};
const char *sandbox_reason_name(enum sandbox_reason reason);

/* Limits. 0 in a request or a default = not given; 0 in a cap = no cap. */
struct sandbox_resources {
	double cpu;        /* vCPUs */
	int64_t memory_mb; /* MiB */
	int64_t disk_mb;   /* MiB */
	int64_t pids;
};
#define SANDBOX_BUILT_IN_RESOURCES                                                                 \
	((struct sandbox_resources){.cpu = 0.5, .memory_mb = 1024, .disk_mb = 1024, .pids = 512})
/* First given wins, field by field: layers[0] (the request), layers[1], …; then clamped to the cap.
 */
struct sandbox_resources sandbox_resources_resolve(const struct sandbox_resources *layers,
                                                   unsigned count,
                                                   const struct sandbox_resources *cap);
/* Refuses negative, NaN and absurd values (cpu over 1024, memory under 16 MiB, pids under 8 …). */
MUST_CHECK int sandbox_resources_check(const struct sandbox_resources *r, struct error *err);
/* Refuses what is given in `r` and above what is given in `most`. */
MUST_CHECK int sandbox_resources_within(const struct sandbox_resources *r,
                                        const struct sandbox_resources *most, struct error *err);

enum sandbox_network { SANDBOX_NETWORK_BLOCKED, SANDBOX_NETWORK_INTERNET };

/* A volume at its place in a sandbox. */
struct sandbox_mount {
	const char *volume_id, *path;
	bool is_read_only;
	const char *subpath; /* the folder of the volume that is seen; NULL or "": all of it */
};
#define SANDBOX_MOUNTS_MAX 8
#define SANDBOX_MOUNT_PATH_MAX 255
/* Absolute, without "..", "." and empty parts or a '/' at the end, and nowhere that the system
 * inside depends on. */
MUST_CHECK int sandbox_mount_path_check(const char *path, struct error *err);
/* Relative, of names alone. What is not there is made; what leads elsewhere is not followed. */
MUST_CHECK int sandbox_mount_subpath_check(const char *subpath, struct error *err);
/* Each path, their number, and that none of them lies in another and no volume is there twice. */
MUST_CHECK int sandbox_mounts_check(const struct sandbox_mount *mounts, size_t count,
                                    struct error *err);

/* A sandbox that is made to look at another one's files: its layers, beside those of a state
 * before, see wire/broker.h. */
struct sandbox_review {
	const char *subject;      /* id of a sandbox or of a snapshot */
	const char *base;         /* id of a snapshot; NULL: the template */
	const char *template_dir; /* of both */
	bool writes;              /* the subject is a sandbox, and stopped for as long */
};

/* What a provider is told to make. Borrowed; lives as long as the call. */
struct sandbox_spec {
	const char *id;
	const char *hostname;
	const char *template_dir; /* name of the template's folder below DATA/templates; "host" for
	                             the machine's own */
	struct sandbox_resources resources;
	enum sandbox_network network;
	const char *egress;   /* PROVIDER_CAN_FILTER, see sandbox/egress.h; NULL or "": no rules */
	bool privileges;      /* sudo and set-uid programs work inside */
	bool background;      /* it gets the processor time that is idle */
	const char *snapshot; /* whose files it begins with; NULL: the template's. Not for start */
	const struct sandbox_mount *mounts; /* PROVIDER_CAN_VOLUME, unless there are none */
	size_t mount_count;
	const struct sandbox_review *review; /* PROVIDER_CAN_SNAPSHOT; NULL: none. Not for start */
	const char *warm; /* names what a prepared one must keep warm; NULL or "": nothing */
	/* What the provider's list is to say of it while it runs: which server's it is, and of
	 * which claim of a lease; NULL and 0: nothing. */
	const char *owner;
	int64_t lease_epoch;
};

#define SANDBOX_NAME_MAX 63
#define SANDBOX_LABELS_MAX 64
/* The label of a sandbox that was made from a config: the config's id. */
#define SANDBOX_CONFIG_LABEL "atoll.config"
/* 1..63 characters of [A-Za-z0-9._-], first and last alphanumeric. */
MUST_CHECK int sandbox_name_check(const char *name, struct error *err);
/* [A-Za-z_][A-Za-z0-9_]*, at most 128; refuses '=' and NUL in names. */
MUST_CHECK int sandbox_env_check(const char *name, const char *value, struct error *err);
/* A friendly name when none is given: "brisk-otter-4821". */
void sandbox_name_generate(char out[SANDBOX_NAME_MAX + 1]);

/* After how long without use what happens, and the age that ends it: as the creator, the template,
 * the project and the platform say. 0 = not said; -1 = never, of the first two. */
enum sandbox_idle_time {
	SANDBOX_IDLE_PAUSE,
	SANDBOX_IDLE_STOP,
	SANDBOX_IDLE_REAP,
	SANDBOX_IDLE_LIFETIME,
	SANDBOX_IDLE_COUNT,
};
struct sandbox_idle {
	int64_t ms[SANDBOX_IDLE_COUNT];
};
MUST_CHECK int sandbox_idle_check(const struct sandbox_idle *idle, struct error *err);
/* Who says something first wins. What nobody says, and never, is 0. */
struct sandbox_idle sandbox_idle_resolve(const struct sandbox_idle *layers, unsigned count);
/* All that is not SANDBOX_IDLE_LEAVE replaces what was. */
#define SANDBOX_IDLE_LEAVE INT64_MIN
void sandbox_idle_change(struct sandbox_idle *idle, const struct sandbox_idle *change);

/* How a sandbox is, as its maker has said; the database has the bits, which never change. */
enum sandbox_trait {
	SANDBOX_PAUSES_IN_TIME = 1 << 0, /* at its timeout it is paused, not deleted */
	SANDBOX_TIMED_AWAKE = 1 << 1,    /* its timeout counts only while it is started */
	SANDBOX_SLEEPS_SOUND = 1 << 2,   /* once paused or stopped, no use of it wakes it */
	SANDBOX_PORTS_GUARDED = 1 << 3,  /* its ports want its traffic token, see fleet/access.h */
	SANDBOX_WITHOUT_MEMORY = 1 << 4, /* at its timeout it is stopped: files stay, no process */
	SANDBOX_PORTS_OPEN = 1 << 5,     /* its ports are open to whoever knows its id */
	SANDBOX_IN_BACKGROUND = 1 << 6,  /* a build: it gets the processor time that is idle */
	SANDBOX_DELETED_KEPT = 1 << 7,   /* it is deleted into the trash, see fleet_delete_kept */
};
/* What a call gives a sandbox whose time was over when it was woken. */
#define SANDBOX_WOKEN_MS (300 * INT64_C(1000))

/* What time does to a sandbox. Times in unix ms; 0 = not set. */
struct sandbox_expiry {
	enum sandbox_state state; /* one that it rests in */
	unsigned traits;          /* enum sandbox_trait */
	bool persistent;
	bool busy; /* commands, terminals or streams hold it */
	bool can_pause, can_stop, can_archive;
	int64_t created_at, started_at, last_activity_at, stopped_at;
	int64_t timeout_at;  /* set by the caller's timeout */
	int64_t awake_until; /* somebody wants it awake so long: until then it is not idle */
	/* 0 = never */
	int64_t idle_pause_ms, idle_stop_ms, idle_reap_ms, archive_after_ms, delete_after_ms,
	        lifetime_max_ms;
};
enum sandbox_step {
	SANDBOX_STEP_NONE,
	SANDBOX_STEP_PAUSE,
	SANDBOX_STEP_STOP,
	SANDBOX_STEP_ARCHIVE,
	SANDBOX_STEP_DELETE,
};
struct sandbox_due {
	enum sandbox_step step;
	enum sandbox_reason reason;
};
/* The furthest step that is due at `now`. */
struct sandbox_due sandbox_expiry_due(const struct sandbox_expiry *e, int64_t now);
/* Whether its next use may wake it: it is paused, or was stopped for nothing but idleness, and its
 * traits do not say otherwise. */
bool sandbox_is_asleep(enum sandbox_state state, enum sandbox_reason reason, unsigned traits);
