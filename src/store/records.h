/* SPDX-License-Identifier: Apache-2.0 */
/* store/records.h — the rows of the store, as its callers see them. Part of store.h.
 *
 * Text members are never NULL after reading; a NULL that is written becomes "" (or an empty JSON
 * object or list). Times are unix ms, 0 = none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct project_record {
	const char *id, *name;
	struct sandbox_resources defaults;           /* zeros = the platform's */
	struct sandbox_resources maximums;           /* of one sandbox; zeros = the platform's */
	int64_t sandboxes_max;                       /* 0 = the platform's */
	struct sandbox_idle idle;                    /* of its sandboxes */
	int64_t terminal_ttl_ms;                     /* 0 = the platform's */
	int64_t artifacts_max_mb, artifacts_keep_ms; /* the same */
	/* Of its templates, snapshots, backups and volumes together; the same. */
	int64_t storage_max_mb;
	bool record_terminals; /* windows are recorded from their start */
	bool closing;          /* it is being deleted, and takes nothing new */
	int64_t created_at;
	int64_t version; /* grows with every change; only read */
};

#define KEY_HASH_SIZE 32
struct key_record {
	const char *id, *project_id, *name;
	const char *user_id;               /* the member it belongs to; "" = none */
	const char *role;                  /* his role now; only read, by store_key_find_by_hash */
	const char *prefix;                /* first characters, to tell keys apart */
	unsigned char hash[KEY_HASH_SIZE]; /* SHA-256 of the key; the key itself is never stored */
	int64_t scopes;                    /* enum account_scope bits */
	int64_t created_at, expires_at, revoked_at, last_used_at;
};

struct key_list {
	struct key_record *items;
	size_t count;
};

enum template_state { TEMPLATE_PENDING, TEMPLATE_BUILDING, TEMPLATE_READY, TEMPLATE_FAILED };
struct template_record {
	const char *id, *project_id; /* project "" = everybody's */
	const char *name;            /* unique in its project */
	const char *folder;          /* below DATA/templates; "host" for the machine's own */
	const char *base_image, *runtime, *isolation;
	const char *description;
	struct sandbox_resources resources; /* zeros = not given */
	const char *env_json;               /* {"A":"b"} */
	const char *entrypoint_json;        /* ["cmd","arg"] or [] */
	const char *ports_json;             /* [3000] */
	const char *user, *workdir; /* of commands; the default user and its project folder */
	enum template_state state;
	const char *state_text; /* progress, or why it failed */
	int64_t size_bytes, created_at, updated_at;
	const char *node;                        /* the server that builds it */
	int64_t pool_min, pool_target, pool_max; /* prepared sandboxes; a max of 0 = none */
	const char *warm_json;                   /* [{"language":"python","imports":["numpy"]}] */
	/* The layer that sandboxes of it begin with, on top of the folder; "" = none. */
	const char *snapshot_id;
	const char
	        *ready; /* the command that told its build that the entrypoint was ready; or "" */
	struct sandbox_idle idle;
};

struct template_list {
	struct template_record *items;
	size_t count;
};

struct sandbox_record {
	const char *id, *project_id, *name;
	const char *template_id, *template_name, *provider, *region;
	const char *labels_json, *env_json; /* {"A":"b"} */
	enum sandbox_state desired, actual;
	enum sandbox_reason reason;
	struct sandbox_resources resources; /* effective */
	bool disk_is_advisory, persistent, privileges;
	enum sandbox_network network;
	int64_t idle_reap_ms, lifetime_max_ms, timeout_at;
	int64_t idle_pause_ms, idle_stop_ms, archive_after_ms, delete_after_ms; /* 0 = never */
	int64_t awake_until; /* kept from idleness until then */
	int64_t created_at, started_at, stopped_at, last_activity_at;
	int64_t last_event_at;
	const char *last_event; /* "started in 4 ms" */
	const char *node;       /* the server that has it, as of DATA/node.id */
	int64_t version;        /* bumped by every change but a touch */
	const char *key_id;     /* that made it; "" = none */
	/* When it became, or ceased to be, STARTED, and for how long it was before. */
	int64_t active_changed_at, active_ms;
	bool preview_off, preview_public;
	int64_t preview_generation; /* links of an earlier one are void */
	int64_t traits;             /* bits of enum sandbox_trait */
	const char *network_json;   /* what it was told of its network, see fleet_create; or "" */
	const char *egress;         /* whom it may reach, see sandbox/egress.h; "" = no rules */
};

struct sandbox_list {
	struct sandbox_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

struct sandbox_filter {
	const char *project_id;              /* NULL = all (server's own use) */
	int state;                           /* enum sandbox_state, -1 = any but DELETED */
	const char *name, *template, *node;  /* exact; NULL = any */
	const char *label_key, *label_value; /* NULL = any */
	const char *page;                    /* next_page of the page before, or NULL */
	unsigned limit;                      /* 1..1000 */
	bool oldest_first;                   /* of a project's */
};
