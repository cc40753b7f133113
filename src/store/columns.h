/* SPDX-License-Identifier: Apache-2.0 */
/* store/columns.h — maps SQL columns to struct members, like json's shapes.
 *
 * A shape is a table of columns. The parameters (":member") and result columns of a query are
 * looked up by name in its shapes, once, when the statement is prepared; an unknown name aborts.
 * columns_of_X describes struct X. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "store/backups.h"
#include "store/builds.h"
#include "store/configs.h"
#include "store/events.h"
#include "store/leases.h"
#include "store/once.h"
#include "store/snapshots.h"
#include "store/store.h"
#include "store/templates.h"
#include "store/volumes.h"
#include "store/webhooks.h"

enum column_kind {
	COLUMN_END,
	COLUMN_TEXT,   /* const char *; NULL is written as '' */
	COLUMN_SECRET, /* const char *; stored encrypted */
	COLUMN_FILTER, /* const char *, only a parameter; NULL is SQL's NULL */
	COLUMN_WHOLE,  /* int64_t */
	COLUMN_NUMBER, /* double */
	COLUMN_BOOL,   /* bool; 0 or 1 */
	COLUMN_CHOICE, /* an enum, stored as its name */
	COLUMN_HASH,   /* unsigned char[KEY_HASH_SIZE] */
};

struct column {
	enum column_kind kind;
	const char *name;
	size_t offset;
	const char *(*word)(unsigned value); /* COLUMN_CHOICE */
	unsigned words;
	const char *binds; /* COLUMN_SECRET: the encryption is bound to this table and to the id at
	                      `owner` */
	size_t owner;
};
/* Finds the enum value with this name. */
MUST_CHECK int column_choose(const struct column *column, struct span text, unsigned *ret,
                             struct error *err);

/* ---- parameters of queries that are no records ---- */

struct record_lookup {
	const char *project_id; /* NULL = any, where the query allows it */
	const char *id;
	int64_t now;
};
struct row_count {
	int64_t count;
};
struct project_admission {
	const char *project_id;
	int64_t living_max; /* 0 = no limit */
	int64_t version;    /* version of the project's row; 0 = any */
};
struct touch {
	const char *id;
	int64_t at;
};
struct template_seen {
	enum template_state state;
};
struct sandbox_seen {
	enum sandbox_state actual;
};
struct project_ref {
	const char *id;
};
struct sandbox_tally {
	enum sandbox_state actual;
	int64_t count;
};
struct sandbox_transition {
	const char *id;
	enum sandbox_state from, to;
	const char *desired; /* NULL = unchanged */
	enum sandbox_reason reason;
	const char *event;
	int64_t now;
	int64_t traits_left, traits_gained; /* masks of bits to keep and bits to add */
	bool is_measured;
	struct sandbox_resources resources;
	bool disk_is_advisory;
};
/* An encrypted value as the database stores it. */
struct secret_row {
	const char *id, *text;
};
struct secret_page {
	const char *id;      /* rows after this id */
	const char *pattern; /* values that match it are excluded */
	int64_t limit;
};
struct secret_swap {
	const char *id, *old, *text;
};
struct sandbox_page {
	const char *project_id, *state, *name, *template, *label_key, *label_value, *node;
	int64_t page_at;
	const char *page_id;
	int64_t limit;
};
struct meter_mark {
	const char *id;
	int64_t seen_metered_ms, seen_stored_at;
	int64_t metered_ms, metered_cpu_us, unbilled_nano, stored_mib, stored_at;
};
struct spending {
	const char *project_id, *key_id, *sandbox_id;
	int64_t usd_micro;
	int64_t day, month; /* day and month of the spending */
};

struct event_search {
	const char *project_id, *sandbox_id, *kind, *prefix;
	int64_t after, before, limit;
};
struct event_purge {
	int64_t end, upto, before;
};
struct webhook_advance {
	int64_t sequence, generation, to;
};
struct config_change {
	struct config_record record;
	int64_t seen_at;
};

extern const struct column columns_of_snapshot_record[], columns_of_snapshot_page[],
        columns_of_snapshot_base[], columns_of_fork_search[], columns_of_secret_row[],
        columns_of_secret_page[], columns_of_secret_swap[];
struct lease_page {
	const char *project_id, *prefix, *after;
	int64_t limit;
};

extern const struct column columns_of_project_record[], columns_of_lease_record[],
        columns_of_lease_page[], columns_of_lease_stray[], columns_of_once_record[],
        columns_of_once_change[], columns_of_key_record[], columns_of_template_record[],
        columns_of_sandbox_record[], columns_of_event_record[], columns_of_record_lookup[],
        columns_of_row_count[], columns_of_sandbox_preview[], columns_of_sandbox_egress_change[],
        columns_of_sandbox_settings[], columns_of_sandbox_revision[], columns_of_touch[],
        columns_of_template_seen[], columns_of_template_move[], columns_of_sandbox_seen[],
        columns_of_project_ref[], columns_of_sandbox_owner[], columns_of_sandbox_transition[],
        columns_of_sandbox_page[], columns_of_event_search[], columns_of_sandbox_tally[],
        columns_of_project_admission[], columns_of_event_bounds[], columns_of_event_purge[],
        columns_of_webhook_record[], columns_of_webhook_cursor[], columns_of_webhook_advance[],
        columns_of_delivery_record[], columns_of_delivery_claim[], columns_of_delivery_end[],
        columns_of_delivery_ref[], columns_of_delivery_page[], columns_of_delivery_retention[],
        columns_of_project_page[], columns_of_project_closing[], columns_of_member_record[],
        columns_of_key_rotation[], columns_of_config_record[], columns_of_config_change[];
extern const struct column columns_of_meter_record[], columns_of_meter_page[],
        columns_of_meter_mark[], columns_of_usage_record[], columns_of_usage_query[],
        columns_of_usage_sum[], columns_of_balance_record[], columns_of_deposit_record[],
        columns_of_budget_record[], columns_of_spending[];
extern const struct column columns_of_artifact_record[], columns_of_artifact_page[],
        columns_of_artifact_due[], columns_of_artifact_sum[], columns_of_artifact_mark[];
extern const struct column columns_of_approval_record[], columns_of_approval_filter[],
        columns_of_approval_decision[], columns_of_skill_record[];
extern const struct column columns_of_relation_record[], columns_of_relation_page[],
        columns_of_relation_search[];
extern const struct column columns_of_service_record[], columns_of_service_ref[],
        columns_of_service_change[];
extern const struct column columns_of_holding_record[], columns_of_holding_page[],
        columns_of_holding_mark[], columns_of_storage_look[], columns_of_project_storage[];
extern const struct column columns_of_folder_record[];
extern const struct column columns_of_server_key[], columns_of_peer_record[],
        columns_of_vault_record[];
extern const struct column columns_of_backup_record[], columns_of_backup_page[];
extern const struct column columns_of_build_record[], columns_of_build_page[],
        columns_of_build_chunk[], columns_of_build_log_page[], columns_of_cached_layer[],
        columns_of_build_cache_page[], columns_of_snapshot_ref[];
extern const struct column columns_of_job_record[], columns_of_job_ref[], columns_of_job_page[],
        columns_of_job_start[], columns_of_job_delivery_change[], columns_of_job_delivery_page[],
        columns_of_channel_record[], columns_of_channel_ref[];
extern const struct column columns_of_volume_record[], columns_of_volume_move[],
        columns_of_mount_move[], columns_of_mount_move[], columns_of_mount_record[];
