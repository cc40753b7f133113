/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/sandbox.h — the sandbox and the rules about it. Pure: no I/O, callers pass the time.
 *
 * The desired state is the last requested state; the actual state is the last one that the provider
 * reported. A state changes only along the table in states.c, through store_sandbox_move. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Desired and actual states. The API uses the lower-case words. */
enum sandbox_state {
	SANDBOX_PENDING,  /* recorded; the provider has made nothing yet */
	SANDBOX_CREATING, /* a provider makes it */
	SANDBOX_STARTED,  /* accepts commands */
	SANDBOX_PAUSED,   /* its processes are frozen, their memory is kept; its next use resumes it
	                   */
	SANDBOX_STOPPING,
	SANDBOX_STOPPED,  /* no process runs; its files are kept */
	SANDBOX_ARCHIVED, /* its files are in the blob store; a start restores them */
	SANDBOX_DELETING,
	SANDBOX_DELETED,
	SANDBOX_FAILED, /* last_event says why; it can be deleted */
	SANDBOX_STATE_COUNT,
};
const char *sandbox_state_name(enum sandbox_state state);
/* All names, NULL-terminated. */
extern const char *const sandbox_state_choices[];
MUST_CHECK int sandbox_state_parse(const char *name, enum sandbox_state *ret, struct error *err);
bool sandbox_state_can_move(enum sandbox_state from, enum sandbox_state to);

/* Why a sandbox ended or rests. */
enum sandbox_reason {
	SANDBOX_REASON_NONE,
	SANDBOX_REASON_USER,
	SANDBOX_REASON_IDLE,
	SANDBOX_REASON_LIFETIME,
	SANDBOX_REASON_OOM,       /* the kernel killed its agent for memory */
	SANDBOX_REASON_EXIT,      /* its agent ended */
	SANDBOX_REASON_HOST_LOST, /* missing when the server looked, for example after a reboot */
	SANDBOX_REASON_ERROR,
	SANDBOX_REASON_BUDGET, /* its budget is spent */
	SANDBOX_REASON_DISK,   /* it exceeds its disk limit; it is paused, not ended */
	SANDBOX_REASON_COUNT,
};
const char *sandbox_reason_name(enum sandbox_reason reason);
extern const char *const sandbox_reason_choices[]; /* NULL-terminated */

/* Limits. 0 in a request or a default = not given; 0 in a cap = no limit. */
struct sandbox_resources {
	double cpu;        /* vCPUs */
	int64_t memory_mb; /* MiB */
	int64_t disk_mb;   /* MiB */
	int64_t pids;
};
#define SANDBOX_BUILT_IN_RESOURCES                                                                 \
	((struct sandbox_resources){.cpu = 0.5, .memory_mb = 1024, .disk_mb = 1024, .pids = 512})
/* Takes each field from the first layer that gives it (layers[0] is the request), then limits it to
 * the cap. */
struct sandbox_resources sandbox_resources_resolve(const struct sandbox_resources *layers,
                                                   unsigned count,
                                                   const struct sandbox_resources *cap);
/* The resources by number: cpu, memory_mb, disk_mb, pids. */
#define SANDBOX_RESOURCE_COUNT 4
const char *sandbox_resource_name(unsigned resource);
double sandbox_resource_get(const struct sandbox_resources *r, unsigned resource);
/* Refuses negative, NaN and absurd values, such as cpu over 1024, memory under 16 MiB, pids under
 * 8. */
MUST_CHECK int sandbox_resources_check(const struct sandbox_resources *r, struct error *err);
/* Refuses fields of `r` that exceed a given field of `most`. */
MUST_CHECK int sandbox_resources_within(const struct sandbox_resources *r,
                                        const struct sandbox_resources *most, struct error *err);

/* See sandbox/timeouts.h. In a sandbox, 0 = never. In a request, 0 = inherited and -1 = never. */
struct sandbox_timeouts {
	int64_t idle_reap_ms, lifetime_max_ms, idle_pause_ms, idle_stop_ms, archive_after_ms,
	        delete_after_ms;
};

enum sandbox_network { SANDBOX_NETWORK_BLOCKED, SANDBOX_NETWORK_INTERNET };

/* A volume mounted in a sandbox. */
struct sandbox_mount {
	const char *volume_id, *path;
	bool is_read_only;
	const char *subpath; /* folder of the volume that is mounted; NULL or "" = all of it */
};
#define SANDBOX_MOUNTS_MAX 8
#define SANDBOX_MOUNT_PATH_MAX 255
/* Accepts absolute paths without "..", "." and empty parts or a '/' at the end, outside the paths
 * that the sandbox's system depends on. */
MUST_CHECK int sandbox_mount_path_check(const char *path, struct error *err);
/* Accepts relative paths of plain names. A missing folder is created; links are not followed. */
MUST_CHECK int sandbox_mount_subpath_check(const char *subpath, struct error *err);
/* Checks each path and their number; no path may lie in another, no volume may occur twice. */
MUST_CHECK int sandbox_mounts_check(const struct sandbox_mount *mounts, size_t count,
                                    struct error *err);

/* A sandbox that compares the files of another sandbox: it sees the subject's layers beside those
 * of an earlier state, see wire/broker.h. */
struct sandbox_review {
	const char *subject;      /* id of a sandbox or a snapshot */
	const char *base;         /* id of a snapshot; NULL = the template */
	const char *template_dir; /* template of both */
	bool writes;              /* the subject is a sandbox; it stays stopped meanwhile */
};

/* A sandbox that a provider is asked to make. Borrowed; lives as long as the call. */
struct sandbox_spec {
	const char *id;
	const char *hostname;
	const char
	        *template_dir; /* folder below DATA/templates; "host" = the machine's own files */
	struct sandbox_resources resources;
	enum sandbox_network network;
	const char *
	        egress; /* see sandbox/egress.h; NULL or "" = no rules; needs PROVIDER_CAN_FILTER */
	bool privileges;      /* sudo and set-uid programs work inside the sandbox */
	bool background;      /* it only gets idle processor time */
	bool has_kvm;         /* /dev/kvm is there; only for the shells of provider microvm */
	const char *snapshot; /* source of its files; NULL = the template; not for a start */
	const struct sandbox_mount *mounts; /* needs PROVIDER_CAN_VOLUME if there are any */
	size_t mount_count;
	const struct sandbox_review
	        *review;  /* NULL = none; not for a start; needs PROVIDER_CAN_SNAPSHOT */
	unsigned gpus;    /* of the machine, for this sandbox; needs PROVIDER_CAN_GPU */
	const char *warm; /* what a ready sandbox must keep warm; NULL or "" = nothing */
	/* Shown by the provider's list while the sandbox runs: its server and the claim of its
	 * lease; NULL and 0 = none. */
	const char *owner;
	int64_t lease_epoch;
	bool is_ephemeral; /* of one call, which ends it */
	/* Folder of its workspace, "/mnt/workspaces/NAME", and the project of that; for providers
	 * that keep workspaces themselves. NULL = none. */
	const char *workspace, *project;
};

#define SANDBOX_NAME_MAX 63
#define SANDBOX_LABELS_MAX 64
/* Label with the id of the config that a sandbox was made from. */
#define SANDBOX_CONFIG_LABEL "atoll.config"
/* Label with the id of the build that a sandbox works for, see SANDBOX_IN_BACKGROUND. */
#define SANDBOX_BUILD_LABEL "atoll.build"
/* Label with the number of a sandbox's GPUs. */
#define SANDBOX_GPUS_LABEL "atoll.gpus"
#define SANDBOX_GPUS_MAX 64
/* Label with the folder of a sandbox's workspace. */
#define SANDBOX_WORKSPACE_LABEL "atoll.workspace"
/* Label of the sandbox of an ephemeral call. */
#define SANDBOX_EPHEMERAL_LABEL "atoll.ephemeral"
/* 1..63 characters of [A-Za-z0-9._-], first and last alphanumeric. */
MUST_CHECK int sandbox_name_check(const char *name, struct error *err);
/* The name is [A-Za-z_][A-Za-z0-9_]*, at most 128 characters. */
MUST_CHECK int sandbox_env_check(const char *name, const char *value, struct error *err);
/* Generates a friendly name such as "brisk-otter-4821". */
void sandbox_name_generate(char out[SANDBOX_NAME_MAX + 1]);

/* Traits that the creator chose. The database holds these bits, so they never change. */
enum sandbox_trait {
	SANDBOX_PAUSES_IN_TIME = 1 << 0, /* its timeout pauses it instead of deleting it */
	SANDBOX_TIMED_AWAKE = 1 << 1,    /* its timeout runs only while it is started */
	SANDBOX_SLEEPS_SOUND = 1 << 2,   /* no use wakes it once it is paused or stopped */
	SANDBOX_PORTS_GUARDED =
	        1 << 3, /* its ports need its traffic token, see fleet/core/access.h */
	SANDBOX_WITHOUT_MEMORY = 1 << 4, /* its timeout stops it: files stay, processes end */
	SANDBOX_PORTS_OPEN = 1 << 5,     /* its ports are open to anyone who knows its id */
	SANDBOX_IN_BACKGROUND = 1 << 6,  /* a build: it only gets idle processor time */
	SANDBOX_DELETED_KEPT = 1 << 7, /* a delete moves it into the trash, see fleet_delete_kept */
};
/* New timeout of a sandbox that a call woke after its timeout had passed. */
#define SANDBOX_WOKEN_MS (300 * INT64_C(1000))

/* Whether its next use may wake it: it is paused, or was stopped only for idleness, and its traits
 * allow it. */
bool sandbox_is_asleep(enum sandbox_state state, enum sandbox_reason reason, unsigned traits);
