/* SPDX-License-Identifier: Apache-2.0 */
/* store/sandbox_record.h — the row of a sandbox, and lists of rows; store/database.h has the rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct arena;

struct sandbox_record {
	const char *id;
	const char *project_id;
	const char *name;
	const char *template_id;
	const char *template_name;
	const char *provider;
	const char *region;
	const char *labels_json;
	const char *env_json; /* {"A":"b"} */
	enum sandbox_state desired;
	enum sandbox_state actual;
	enum sandbox_reason reason;
	struct sandbox_resources resources; /* effective limits */
	bool disk_is_advisory;
	bool persistent;
	bool privileges;
	enum sandbox_network network;
	struct sandbox_timeouts timeouts;
	int64_t timeout_at;
	int64_t awake_until; /* not idle before this time */
	int64_t created_at;
	int64_t started_at;
	int64_t stopped_at;
	int64_t last_activity_at;
	int64_t last_event_at;
	const char *last_event;    /* "started in 4 ms" */
	const char *node;          /* the server that has it: DATA/node.id */
	int64_t version;           /* grows with every change except a touch */
	const char *key_id;        /* key that made it; "" = none */
	const char *user_id;       /* user that made it, by a key or a session; "" = none */
	int64_t active_changed_at; /* when it became, or stopped being, STARTED */
	int64_t active_ms;         /* time as STARTED before active_changed_at */
	bool preview_off;
	bool preview_public;
	int64_t preview_generation; /* links of an earlier generation are invalid */
	int64_t traits;             /* bits of enum sandbox_trait */
	const char *network_json;   /* requested network settings, see fleet_create; or "" */
	const char *egress;         /* allowed destinations, see sandbox/egress.h; "" = no rules */
	const char *egress_cut;     /* the reason why a quota cuts its network; "" = none */
	const char *rules_json;     /* rules of credentials, see credential/rule.h; "" = none */
	const char *placed;         /* why it is at its provider; "" = there was no choice */
};
/* Copies the texts into the arena; NULL becomes "". */
void sandbox_record_own(struct arena *a, struct sandbox_record *r);

struct sandbox_list {
	struct sandbox_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* What a list is sorted by; rows with equal values are sorted by id. */
enum sandbox_order {
	SANDBOX_BY_CREATED,
	SANDBOX_BY_ACTIVITY, /* as the store knows it: some seconds late */
	SANDBOX_BY_NAME,
	SANDBOX_BY_STATE, /* by the name of the state */
	SANDBOX_ORDER_COUNT,
};

/* A row is listed if it meets every condition. */
struct sandbox_filter {
	const char *project_id;  /* NULL = all; only for the server itself */
	int state;               /* enum sandbox_state, -1 = any except DELETED */
	const char *states;      /* JSON object whose members name states, instead of `state` */
	const char *name;        /* exact; NULL = any */
	const char *template;    /* exact; NULL = any */
	const char *node;        /* exact; NULL = any */
	const char *region;      /* exact; NULL = any */
	const char *providers;   /* JSON object whose members name providers; NULL = any */
	const char *created_by;  /* id of a key or of a user; NULL = any */
	const char *search;      /* part of the name, of the id, or of a label as "KEY=VALUE", in
	                            either case; NULL = any */
	const char *label_key;   /* NULL = any */
	const char *label_value; /* NULL = any */
	const char *labels_json; /* JSON object of further labels; NULL = any */
	const char *page;        /* next_page of the previous page, or NULL */
	unsigned limit;          /* 1..1000 */
	unsigned order;          /* enum sandbox_order; only with project_id */
	bool ascending;          /* oldest first, a to z; only with project_id */
	bool with_builds;        /* those of builds, too; a filter by their label implies it */
};
