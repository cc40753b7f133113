/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker.h — the messages between atolld and the broker: their types, and those that belong to
 * no noun. wire/broker_NOUN.h has the rest.
 *
 * One SOCK_SEQPACKET connection; a packet is one frame: a request id (u64, the first member of
 * every message) and fixed fields. Replies carry the id of their request and may come in any order.
 * BROKER_ENDED and BROKER_DISK have id 0. The broker does not trust atolld: it checks every field
 * again, and names are ids or template names, never paths. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define BROKER_PROTOCOL 9

enum broker_type {
	BROKER_NONE = 100,
	BROKER_HELLO,    /* broker_hello -> BROKER_WELCOME */
	BROKER_WELCOME,  /* broker_welcome */
	BROKER_CREATE,   /* broker_create -> BROKER_CREATED */
	BROKER_START,    /* broker_create -> BROKER_CREATED: uses the files of a stopped sandbox */
	BROKER_CREATED,  /* broker_created */
	BROKER_STOP,     /* broker_id -> BROKER_OK: kills all processes, keeps the files */
	BROKER_DESTROY,  /* broker_id -> BROKER_OK */
	BROKER_PAUSE,    /* broker_id -> BROKER_OK when all processes are frozen */
	BROKER_RESUME,   /* broker_id -> BROKER_OK */
	BROKER_LIST,     /* broker_id (sandbox "") -> BROKER_ENTRY*, BROKER_OK */
	BROKER_ENTRY,    /* broker_entry */
	BROKER_STATS,    /* broker_id -> BROKER_USAGE */
	BROKER_USAGE,    /* broker_usage */
	BROKER_TEMPLATE, /* broker_template, with a descriptor for progress lines -> BROKER_OK */
	BROKER_OK,       /* broker_ok */
	BROKER_FAILED,   /* broker_failed */
	BROKER_ENDED,    /* broker_ended, unasked */
	BROKER_SNAPSHOT, /* broker_snapshot -> BROKER_SNAPSHOT_MADE */
	BROKER_SNAPSHOT_MADE, /* broker_snapshot_made */
	BROKER_RESTORE, /* broker_snapshot, of a stopped sandbox -> BROKER_OK; snapshot "": its
	                   template */
	BROKER_SNAPSHOT_REMOVE, /* broker_snapshot (sandbox "") -> BROKER_OK */
	BROKER_SNAPSHOT_LIST,   /* broker_id (sandbox "") -> BROKER_ENTRY*, BROKER_OK */
	BROKER_VOLUME,          /* broker_volume -> BROKER_VOLUME_STATE */
	BROKER_VOLUME_STATE,    /* broker_volume_state */
	BROKER_VOLUMES,         /* broker_id (sandbox "") -> BROKER_ENTRY* of volumes, BROKER_OK */
	BROKER_POOL,            /* broker_pool -> BROKER_OK */
	BROKER_POOLS,           /* broker_id (sandbox "") -> BROKER_POOL_STATE*, BROKER_OK */
	BROKER_POOL_STATE,      /* broker_pool_state */
	BROKER_MEMORY,   /* broker_id (sandbox "") -> BROKER_OK: memory of processes can be kept */
	BROKER_BACKUP,   /* broker_backup, with three descriptors -> BROKER_OK when done */
	BROKER_LIMIT,    /* broker_limit, of a running sandbox -> BROKER_OK */
	BROKER_EGRESS,   /* broker_egress -> BROKER_OK */
	BROKER_MEASURE,  /* broker_measure -> BROKER_MEASURED */
	BROKER_MEASURED, /* broker_measured */
	BROKER_TRASH,    /* broker_trash -> BROKER_TRASH_ENTRY*, BROKER_OK */
	BROKER_TRASH_ENTRY, /* broker_trash_entry */
	BROKER_PROBE,       /* broker_probe -> BROKER_OK when the sandbox has ended again */
	BROKER_DISK,        /* broker_disk, unasked */
	BROKER_TYPE_COUNT,
};

struct broker_hello {
	uint64_t request;
	uint32_t protocol;
};
struct broker_welcome {
	uint64_t request;
	uint32_t protocol;
	uint32_t can_limit_disk; /* abilities of this host */
	uint32_t can_network;
	const char *cgroup; /* "v1", "v2" or "hybrid-v1" */
	uint32_t can_pause;
};
struct broker_id {
	uint64_t request;
	const char *sandbox;
	uint64_t grace_ms; /* BROKER_STOP */
};

struct broker_ok {
	uint64_t request;
};
struct broker_failed {
	uint64_t request;
	uint32_t code; /* enum error_code */
	uint32_t sys_errno;
	const char *text;
	const char *hint;
};
/* A sandbox ended by itself, or was paused because its disk is full. */
struct broker_ended {
	uint64_t request; /* 0 */
	const char *sandbox;
	uint32_t reason;     /* enum sandbox_reason */
	uint64_t sent_bytes; /* since its start, as its link counted; UINT64_MAX: not known */
};

extern const struct wire_member broker_hello_shape[], broker_welcome_shape[], broker_id_shape[],
        broker_ok_shape[], broker_failed_shape[], broker_ended_shape[];
