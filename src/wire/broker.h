/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker.h — the messages between atolld and the broker, and from the broker to a new agent.
 *
 * One SOCK_SEQPACKET connection; a packet is one frame: a request id (u64, first member everywhere)
 * and fixed fields. Replies carry the same id and may come in another order; BROKER_ENDED has id 0.
 * The broker trusts atolld no more than it must: every field is checked again, names are ids or
 * template names, never paths. */
#pragma once

#include <stdint.h>

#include "wire/broker_egress.h"
#include "wire/broker_backup.h"
#include "wire/broker_disk.h"
#include "wire/broker_measure.h"
#include "wire/broker_trash.h"
#include "wire/broker_probe.h"
#include "wire/broker_volume.h"
#include "wire/wire.h"

#define BROKER_PROTOCOL 7

enum broker_type {
	BROKER_NONE = 100,
	BROKER_HELLO,   /* broker_hello -> BROKER_WELCOME */
	BROKER_WELCOME, /* broker_welcome */
	BROKER_CREATE,  /* broker_create -> BROKER_CREATED */
	BROKER_START,   /* broker_create -> BROKER_CREATED: files of a stopped one are used again */
	BROKER_CREATED, /* broker_created */
	BROKER_STOP,    /* broker_id -> BROKER_OK: kills all inside, keeps the files */
	BROKER_DESTROY, /* broker_id -> BROKER_OK */
	BROKER_PAUSE,   /* broker_id -> BROKER_OK when nothing inside runs; its memory stays */
	BROKER_RESUME,  /* broker_id -> BROKER_OK */
	BROKER_LIST,    /* broker_id (sandbox "") -> BROKER_ENTRY*, BROKER_OK */
	BROKER_ENTRY,   /* broker_entry */
	BROKER_STATS,   /* broker_id -> BROKER_USAGE */
	BROKER_USAGE,   /* broker_usage */
	BROKER_TEMPLATE, /* broker_template, with a descriptor for progress lines -> BROKER_OK */
	BROKER_OK,       /* broker_ok */
	BROKER_FAILED,   /* broker_failed */
	BROKER_ENDED, /* broker_ended: a sandbox ended by itself, or was paused: its disk is full */
	BROKER_SNAPSHOT,      /* broker_snapshot -> BROKER_SNAPSHOT_MADE */
	BROKER_SNAPSHOT_MADE, /* broker_snapshot_made */
	BROKER_RESTORE, /* broker_snapshot, of a stopped one -> BROKER_OK; "" = its template */
	BROKER_SNAPSHOT_REMOVE, /* broker_snapshot (sandbox "") -> BROKER_OK */
	BROKER_SNAPSHOT_LIST,   /* broker_id (sandbox "") -> BROKER_ENTRY*, BROKER_OK */
	BROKER_VOLUME,          /* broker_volume -> BROKER_VOLUME_STATE */
	BROKER_VOLUME_STATE,    /* broker_volume_state */
	BROKER_VOLUMES,         /* broker_id (sandbox "") -> BROKER_ENTRY* of volumes, BROKER_OK */
	BROKER_POOL,            /* broker_pool: a max of 0 ends it -> BROKER_OK */
	BROKER_POOLS,           /* broker_id (sandbox "") -> BROKER_POOL_STATE*, BROKER_OK */
	BROKER_POOL_STATE,      /* broker_pool_state */
	BROKER_MEMORY,          /* broker_id (sandbox "") -> BROKER_OK: processes can be kept */
	BROKER_BACKUP,          /* broker_backup, with three descriptors -> BROKER_OK when done */
	BROKER_LIMIT,           /* broker_limit, of one that runs -> BROKER_OK */
	BROKER_EGRESS,          /* broker_egress -> BROKER_OK */
	BROKER_MEASURE,         /* broker_measure -> BROKER_MEASURED */
	BROKER_MEASURED,        /* broker_measured */
	BROKER_TRASH,           /* broker_trash -> BROKER_TRASH_ENTRY*, BROKER_OK */
	BROKER_TRASH_ENTRY,     /* broker_trash_entry */
	BROKER_PROBE,           /* broker_probe -> BROKER_OK when the sandbox has ended again */
	BROKER_DISK,            /* broker_disk, unasked */
	BROKER_TYPE_COUNT,
};

struct broker_hello {
	uint64_t request;
	uint32_t protocol;
};
struct broker_welcome {
	uint64_t request;
	uint32_t protocol;
	uint32_t can_limit_disk, can_network; /* what this host can do */
	const char *cgroup;                   /* "v1", "v2" or "hybrid-v1" */
	uint32_t can_pause;
};
struct broker_id {
	uint64_t request;
	const char *sandbox;
	uint64_t grace_ms; /* BROKER_STOP */
};
enum broker_kind { BROKER_NATIVE, BROKER_HOST };
struct broker_create {
	uint64_t request;
	uint32_t kind; /* enum broker_kind */
	const char *sandbox, *hostname;
	const char *template_name; /* a folder below DATA/templates, or "host" */
	uint32_t network;          /* enum sandbox_network */
	uint32_t privileges;
	uint64_t cpu_milli, memory_bytes, disk_bytes, pids;
	uint32_t background;  /* 1: processor time that no other sandbox wants, without a limit */
	const char *snapshot; /* whose files it begins with, or ""; not for BROKER_START */
	const char **volumes; /* "VOLUME:rw:/PATH" or "VOLUME:ro:/PATH//FOLDER-OF-IT" */
	const char *review;   /* "" or "SUBJECT:BASE:ro:TEMPLATE": it has the trees of another
	                         sandbox's, or a snapshot's, layers; see BROKER_REVIEW_PATH */
	const char *warm;     /* as of broker_pool, or "" */
	const char *egress;   /* whom it may reach, as of sandbox/egress.h; "" = no rules */
	const char *owner;    /* an id, or ""; and the next: what BROKER_ENTRY is to say of it */
	uint64_t lease_epoch;
};
/* There are the trees of wire/agent_files.h. `base` is what the snapshot BASE has, or the template
 * when that is ""; `now` what SUBJECT has, to write ("rw" for "ro") if it is stopped. */
#define BROKER_REVIEW_PATH "/review"
struct broker_limit {
	uint64_t request;
	const char *sandbox;
	uint64_t cpu_milli, memory_bytes, pids; /* as of broker_create */
};
struct broker_created {
	uint64_t request;
	uint32_t disk_is_advisory;
	uint64_t took_us;
	const char *steps; /* "overlay=41 limits=60 setup=310 …" in µs, for the create breakdown */
};
struct broker_entry {
	uint64_t request;
	const char *sandbox;
	uint32_t running;
	uint32_t paused; /* it runs, and is frozen */
	const char *owner;
	uint64_t lease_epoch;
};
struct broker_usage {
	uint64_t request;
	uint64_t uptime_ms, cpu_us, memory_bytes, memory_limit, disk_bytes, disk_limit, pids,
	        pids_limit;
	uint64_t network_in, network_out, oom_kills;
};
enum broker_template_verb { BROKER_TEMPLATE_BUILD, BROKER_TEMPLATE_IMPORT, BROKER_TEMPLATE_REMOVE };
struct broker_template {
	uint64_t request;
	uint32_t verb;
	const char *name;   /* of the template's folder; must not exist (but for REMOVE) */
	const char *recipe; /* BUILD: "base". IMPORT: "tar", "oci", "docker-archive", "registry" */
	const char *source; /* IMPORT registry: "docker.io/library/alpine:3", and a second
	                       descriptor if it wants a login; files: "" and a second descriptor */
	uint64_t size_max;  /* IMPORT: bytes that it may become; 0 = as many as an image may have */
};
struct broker_snapshot {
	uint64_t request;
	const char *sandbox, *snapshot; /* ids; of a new one it is the caller's choice */
	uint32_t sync;                  /* answer when it has come to the disk */
	uint32_t dry;                   /* BROKER_RESTORE: only say whether it could be done */
};
struct broker_snapshot_made {
	uint64_t request;
	uint64_t frozen_us, took_us; /* 0 frozen: it was stopped */
	uint32_t depth;              /* layers that it consists of */
	const char *method;          /* "rename", "switch" or "copy", see docs/use/snapshots.md */
	const char *because;         /* of a copy: what was in the way of a switch */
};
/* What is prepared for whoever asks for just this; see broker/sandbox/pool.h. */
struct broker_pool {
	uint64_t request;
	const char *name;          /* an id of the caller's choice */
	const char *template_name; /* as of broker_create, and all the rest too */
	const char *snapshot;
	uint32_t network, privileges;
	uint64_t cpu_milli, memory_bytes, disk_bytes, pids;
	uint32_t min, target, max;
	const char *warm;      /* names the wish: only a create that says the same gets it */
	struct span warm_wish; /* a whole AGENT_WARM frame for their agents, or nothing */
};
struct broker_pool_state {
	uint64_t request;
	const char *name; /* "" = automatic */
	const char *template_name, *snapshot;
	uint32_t network, privileges;
	uint64_t cpu_milli, memory_bytes, disk_bytes, pids;
	uint32_t min, target, max;
	uint32_t depth, ready, preparing; /* depth: layers of the snapshot that they begin with */
	uint64_t hits, misses;
	const char *warm, *text, *hint; /* text, hint: why the last one failed */
	uint32_t failed, code, sys_errno;
};
struct broker_ok {
	uint64_t request;
};
struct broker_failed {
	uint64_t request;
	uint32_t code, sys_errno;
	const char *text, *hint;
};
struct broker_ended {
	uint64_t request; /* 0 */
	const char *sandbox;
	uint32_t reason; /* enum sandbox_reason */
};

/* For a sandbox that was set up for nobody, when it is somebody's. Its host name is set. */
struct agent_claim {
	const char *hostname, *machine_id;
};
extern const struct wire_member agent_claim_shape[];

extern const struct wire_member broker_hello_shape[], broker_welcome_shape[], broker_id_shape[],
        broker_limit_shape[], broker_create_shape[], broker_created_shape[], broker_entry_shape[],
        broker_usage_shape[], broker_template_shape[], broker_snapshot_shape[],
        broker_snapshot_made_shape[], broker_ok_shape[], broker_failed_shape[],
        broker_ended_shape[], broker_pool_shape[], broker_pool_state_shape[];
