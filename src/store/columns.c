/* SPDX-License-Identifier: Apache-2.0 */
#include "store/columns.h"

#include "sandbox/sandbox.h"
#include "store/column_rows.h"
#include "store/members.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/usage.h"

/* The words are what the database holds: they may be added to, never changed. */
enum {
	sandbox_state_words = SANDBOX_STATE_COUNT,
	sandbox_reason_words = SANDBOX_REASON_COUNT,
	sandbox_network_words = SANDBOX_NETWORK_INTERNET + 1,
	template_state_words = TEMPLATE_FAILED + 1,
	snapshot_state_words = SNAPSHOT_LOST + 1,
	backup_state_words = BACKUP_REMOVING + 1,
	snapshot_kind_words = SNAPSHOT_KIND_COUNT,
	lease_status_words = LEASE_STATUS_COUNT,
	delivery_state_words = DELIVERY_STATE_COUNT,
	usage_reason_words = USAGE_REASON_COUNT,
	usage_group_words = USAGE_GROUP_COUNT,
	budget_scope_words = BUDGET_SCOPE_COUNT,
	budget_window_words = BUDGET_WINDOW_COUNT,
};

static const char *sandbox_state_word(unsigned value)
{
	return sandbox_state_name((enum sandbox_state)value);
}

static const char *sandbox_reason_word(unsigned value)
{
	return sandbox_reason_name((enum sandbox_reason)value);
}

static const char *sandbox_network_word(unsigned value)
{
	return value == SANDBOX_NETWORK_INTERNET ? "internet" : "blocked";
}

static const char *lease_status_word(unsigned value)
{
	return lease_status_name((enum lease_status)value);
}

static const char *template_state_word(unsigned value)
{
	static const char *const words[] = {
	        [TEMPLATE_PENDING] = "pending",
	        [TEMPLATE_BUILDING] = "building",
	        [TEMPLATE_READY] = "ready",
	        [TEMPLATE_FAILED] = "failed",
	};

	return value < COUNT_OF(words) ? words[value] : "unknown";
}

int column_choose(const struct column *column, struct span text, unsigned *ret, struct error *err)
{
	for (unsigned i = 0; i < column->words; i++) {
		if (span_equals_text(text, column->word(i))) {
			*ret = i;
			return 0;
		}
	}
	return FAIL(err, ERROR_SYSTEM, "the database holds an unknown %s '%.*s'", column->name,
	            (int)(text.size < 40 ? text.size : 40), text.data ? text.data : "");
}

static const char *delivery_state_word(unsigned value)
{
	return delivery_state_name((enum delivery_state)value);
}

static const char *usage_reason_word(unsigned value)
{
	return usage_reason_name((enum usage_reason)value);
}

static const char *usage_group_word(unsigned value)
{
	static const char *const words[] = {
	        [USAGE_BY_PROJECT] = "project", [USAGE_BY_KEY] = "key",
	        [USAGE_BY_SANDBOX] = "sandbox", [USAGE_BY_RUN] = "run",
	        [USAGE_BY_REASON] = "reason",   [USAGE_BY_DAY] = "day",
	        [USAGE_BY_NOTHING] = "total",
	};

	return value < COUNT_OF(words) ? words[value] : "unknown";
}

static const char *budget_scope_word(unsigned value)
{
	return budget_scope_name((enum budget_scope)value);
}

static const char *budget_window_word(unsigned value)
{
	return budget_window_name((enum budget_window)value);
}

static const char *snapshot_state_word(unsigned value)
{
	return snapshot_state_name((enum snapshot_state)value);
}

static const char *backup_state_word(unsigned value)
{
	return backup_state_name((enum backup_state)value);
}

static const char *snapshot_kind_word(unsigned value)
{
	return snapshot_kind_name((enum snapshot_kind)value);
}

const struct column columns_of_project_record[] = {
        TEXT_OF(project_record, id),
        TEXT_OF(project_record, name),
        RESOURCES_OF(project_record, defaults),
        COLUMN_(COLUMN_NUMBER, project_record, maximums.cpu, double, "max_cpu"),
        COLUMN_(COLUMN_WHOLE, project_record, maximums.memory_mb, int64_t, "max_memory_mb"),
        COLUMN_(COLUMN_WHOLE, project_record, maximums.disk_mb, int64_t, "max_disk_mb"),
        COLUMN_(COLUMN_WHOLE, project_record, maximums.pids, int64_t, "max_pids"),
        WHOLE_OF(project_record, sandboxes_max),
        IDLE_OF(project_record, idle),
        WHOLE_OF(project_record, terminal_ttl_ms),
        WHOLE_OF(project_record, artifacts_max_mb),
        WHOLE_OF(project_record, artifacts_keep_ms),
        WHOLE_OF(project_record, storage_max_mb),
        BOOL_OF(project_record, record_terminals),
        BOOL_OF(project_record, closing),
        WHOLE_OF(project_record, created_at),
        WHOLE_OF(project_record, version),
        END,
};

const struct column columns_of_key_record[] = {
        TEXT_OF(key_record, id),
        TEXT_OF(key_record, project_id),
        TEXT_OF(key_record, user_id),
        TEXT_OF(key_record, role),
        TEXT_OF(key_record, name),
        TEXT_OF(key_record, prefix),
        HASH_OF(key_record, hash),
        WHOLE_OF(key_record, scopes),
        WHOLE_OF(key_record, created_at),
        WHOLE_OF(key_record, expires_at),
        WHOLE_OF(key_record, revoked_at),
        WHOLE_OF(key_record, last_used_at),
        END,
};

const struct column columns_of_template_record[] = {
        TEXT_OF(template_record, id),
        TEXT_OF(template_record, project_id),
        TEXT_OF(template_record, name),
        TEXT_OF(template_record, folder),
        TEXT_OF(template_record, base_image),
        TEXT_OF(template_record, runtime),
        TEXT_OF(template_record, isolation),
        TEXT_OF(template_record, description),
        RESOURCES_OF(template_record, resources),
        SECRET_OF(template_record, env_json, "templates"),
        TEXT_OF(template_record, entrypoint_json),
        TEXT_OF(template_record, ports_json),
        TEXT_OF(template_record, user),
        TEXT_OF(template_record, workdir),
        CHOICE_OF(template_record, state, template_state),
        TEXT_OF(template_record, state_text),
        WHOLE_OF(template_record, size_bytes),
        WHOLE_OF(template_record, created_at),
        WHOLE_OF(template_record, updated_at),
        TEXT_OF(template_record, node),
        WHOLE_OF(template_record, pool_min),
        WHOLE_OF(template_record, pool_target),
        WHOLE_OF(template_record, pool_max),
        TEXT_OF(template_record, warm_json),
        TEXT_OF(template_record, snapshot_id),
        TEXT_OF(template_record, ready),
        IDLE_OF(template_record, idle),
        END,
};

const struct column columns_of_sandbox_record[] = {
        TEXT_OF(sandbox_record, id),
        TEXT_OF(sandbox_record, project_id),
        TEXT_OF(sandbox_record, name),
        TEXT_OF(sandbox_record, template_id),
        TEXT_OF(sandbox_record, template_name),
        TEXT_OF(sandbox_record, provider),
        TEXT_OF(sandbox_record, region),
        TEXT_OF(sandbox_record, labels_json),
        SECRET_OF(sandbox_record, env_json, "sandboxes"),
        CHOICE_OF(sandbox_record, desired, sandbox_state),
        CHOICE_OF(sandbox_record, actual, sandbox_state),
        CHOICE_OF(sandbox_record, reason, sandbox_reason),
        RESOURCES_OF(sandbox_record, resources),
        BOOL_OF(sandbox_record, disk_is_advisory),
        BOOL_OF(sandbox_record, persistent),
        BOOL_OF(sandbox_record, privileges),
        CHOICE_OF(sandbox_record, network, sandbox_network),
        WHOLE_OF(sandbox_record, idle_reap_ms),
        WHOLE_OF(sandbox_record, lifetime_max_ms),
        WHOLE_OF(sandbox_record, timeout_at),
        WHOLE_OF(sandbox_record, idle_pause_ms),
        WHOLE_OF(sandbox_record, idle_stop_ms),
        WHOLE_OF(sandbox_record, archive_after_ms),
        WHOLE_OF(sandbox_record, delete_after_ms),
        WHOLE_OF(sandbox_record, awake_until),
        WHOLE_OF(sandbox_record, created_at),
        WHOLE_OF(sandbox_record, started_at),
        WHOLE_OF(sandbox_record, stopped_at),
        WHOLE_OF(sandbox_record, last_activity_at),
        WHOLE_OF(sandbox_record, last_event_at),
        TEXT_OF(sandbox_record, last_event),
        TEXT_OF(sandbox_record, node),
        WHOLE_OF(sandbox_record, version),
        TEXT_OF(sandbox_record, key_id),
        WHOLE_OF(sandbox_record, active_changed_at),
        WHOLE_OF(sandbox_record, active_ms),
        BOOL_OF(sandbox_record, preview_off),
        BOOL_OF(sandbox_record, preview_public),
        WHOLE_OF(sandbox_record, preview_generation),
        WHOLE_OF(sandbox_record, traits),
        TEXT_OF(sandbox_record, network_json),
        TEXT_OF(sandbox_record, egress),
        END,
};

const struct column columns_of_event_record[] = {
        WHOLE_OF(event_record, sequence),
        WHOLE_OF(event_record, at),
        TEXT_OF(event_record, project_id),
        TEXT_OF(event_record, sandbox_id),
        TEXT_OF(event_record, kind),
        TEXT_OF(event_record, reason),
        TEXT_OF(event_record, text),
        TEXT_OF(event_record, detail),
        END,
};

const struct column columns_of_record_lookup[] = {
        FILTER_OF(record_lookup, project_id),
        TEXT_OF(record_lookup, id),
        WHOLE_OF(record_lookup, now),
        END,
};

const struct column columns_of_row_count[] = {
        WHOLE_OF(row_count, count),
        END,
};

const struct column columns_of_project_admission[] = {
        TEXT_OF(project_admission, project_id),
        WHOLE_OF(project_admission, living_max),
        WHOLE_OF(project_admission, version),
        END,
};

const struct column columns_of_sandbox_preview[] = {
        TEXT_OF(sandbox_preview, id),
        BOOL_OF(sandbox_preview, off),
        BOOL_OF(sandbox_preview, is_public),
        WHOLE_OF(sandbox_preview, generation),
        END,
};

const struct column columns_of_sandbox_settings[] = {
        TEXT_OF(sandbox_settings, id),
        TEXT_OF(sandbox_settings, labels_json),
        BOOL_OF(sandbox_settings, persistent),
        WHOLE_OF(sandbox_settings, timeout_at),
        WHOLE_OF(sandbox_settings, idle_reap_ms),
        WHOLE_OF(sandbox_settings, lifetime_max_ms),
        WHOLE_OF(sandbox_settings, idle_pause_ms),
        WHOLE_OF(sandbox_settings, idle_stop_ms),
        WHOLE_OF(sandbox_settings, archive_after_ms),
        WHOLE_OF(sandbox_settings, delete_after_ms),
        END,
};

const struct column columns_of_sandbox_revision[] = {
        TEXT_OF(sandbox_revision, id),
        SECRET_OF(sandbox_revision, env_json, "sandboxes"),
        RESOURCES_OF(sandbox_revision, resources),
        END,
};

const struct column columns_of_touch[] = {
        TEXT_OF(touch, id),
        WHOLE_OF(touch, at),
        END,
};

const struct column columns_of_template_seen[] = {
        CHOICE_OF(template_seen, state, template_state),
        END,
};

const struct column columns_of_template_move[] = {
        TEXT_OF(template_move, id),
        CHOICE_OF(template_move, from, template_state),
        CHOICE_OF(template_move, to, template_state),
        TEXT_OF(template_move, state_text),
        WHOLE_OF(template_move, size_bytes),
        WHOLE_OF(template_move, now),
        FILTER_OF(template_move, node),
        END,
};

const struct column columns_of_secret_row[] = {
        TEXT_OF(secret_row, id),
        TEXT_OF(secret_row, text),
        END,
};

const struct column columns_of_secret_page[] = {
        TEXT_OF(secret_page, id),
        TEXT_OF(secret_page, pattern),
        WHOLE_OF(secret_page, limit),
        END,
};

const struct column columns_of_secret_swap[] = {
        TEXT_OF(secret_swap, id),
        TEXT_OF(secret_swap, old),
        TEXT_OF(secret_swap, text),
        END,
};

const struct column columns_of_project_ref[] = {TEXT_OF(project_ref, id), END};

const struct column columns_of_sandbox_owner[] = {
        TEXT_OF(sandbox_owner, id),
        TEXT_OF(sandbox_owner, name),
        TEXT_OF(sandbox_owner, project_id),
        END,
};

const struct column columns_of_sandbox_seen[] = {
        CHOICE_OF(sandbox_seen, actual, sandbox_state),
        END,
};

const struct column columns_of_sandbox_tally[] = {
        CHOICE_OF(sandbox_tally, actual, sandbox_state),
        WHOLE_OF(sandbox_tally, count),
        END,
};

const struct column columns_of_sandbox_transition[] = {
        TEXT_OF(sandbox_transition, id),
        CHOICE_OF(sandbox_transition, from, sandbox_state),
        CHOICE_OF(sandbox_transition, to, sandbox_state),
        FILTER_OF(sandbox_transition, desired),
        CHOICE_OF(sandbox_transition, reason, sandbox_reason),
        TEXT_OF(sandbox_transition, event),
        WHOLE_OF(sandbox_transition, now),
        WHOLE_OF(sandbox_transition, traits_left),
        WHOLE_OF(sandbox_transition, traits_gained),
        BOOL_OF(sandbox_transition, is_measured),
        RESOURCES_OF(sandbox_transition, resources),
        BOOL_OF(sandbox_transition, disk_is_advisory),
        END,
};

const struct column columns_of_sandbox_page[] = {
        FILTER_OF(sandbox_page, project_id),
        FILTER_OF(sandbox_page, state),
        FILTER_OF(sandbox_page, name),
        FILTER_OF(sandbox_page, template),
        FILTER_OF(sandbox_page, label_key),
        FILTER_OF(sandbox_page, label_value),
        WHOLE_OF(sandbox_page, page_at),
        TEXT_OF(sandbox_page, page_id),
        WHOLE_OF(sandbox_page, limit),
        FILTER_OF(sandbox_page, node),
        END,
};

const struct column columns_of_event_search[] = {
        FILTER_OF(event_search, project_id), FILTER_OF(event_search, sandbox_id),
        FILTER_OF(event_search, kind),       FILTER_OF(event_search, prefix),
        WHOLE_OF(event_search, after),       WHOLE_OF(event_search, before),
        WHOLE_OF(event_search, limit),       END,
};

const struct column columns_of_event_bounds[] = {
        WHOLE_OF(event_bounds, oldest),
        WHOLE_OF(event_bounds, newest),
        WHOLE_OF(event_bounds, oldest_at),
        END,
};

const struct column columns_of_event_purge[] = {
        WHOLE_OF(event_purge, end),
        WHOLE_OF(event_purge, upto),
        WHOLE_OF(event_purge, before),
        END,
};

const struct column columns_of_webhook_record[] = {
        TEXT_OF(webhook_record, id),
        TEXT_OF(webhook_record, project_id),
        TEXT_OF(webhook_record, url),
        SECRET_OF(webhook_record, secret, "webhooks"),
        TEXT_OF(webhook_record, patterns),
        TEXT_OF(webhook_record, state_text),
        BOOL_OF(webhook_record, enabled),
        WHOLE_OF(webhook_record, after),
        WHOLE_OF(webhook_record, created_at),
        WHOLE_OF(webhook_record, updated_at),
        WHOLE_OF(webhook_record, waiting),
        WHOLE_OF(webhook_record, dead),
        END,
};

const struct column columns_of_webhook_cursor[] = {
        WHOLE_OF(webhook_cursor, sequence),
        WHOLE_OF(webhook_cursor, generation),
        END,
};

const struct column columns_of_webhook_advance[] = {
        WHOLE_OF(webhook_advance, sequence),
        WHOLE_OF(webhook_advance, generation),
        WHOLE_OF(webhook_advance, to),
        END,
};

const struct column columns_of_delivery_record[] = {
        TEXT_OF(delivery_record, id),
        TEXT_OF(delivery_record, webhook_id),
        WHOLE_OF(delivery_record, sequence),
        TEXT_OF(delivery_record, kind),
        TEXT_OF(delivery_record, body),
        CHOICE_OF(delivery_record, state, delivery_state),
        WHOLE_OF(delivery_record, attempts),
        WHOLE_OF(delivery_record, status),
        TEXT_OF(delivery_record, error),
        WHOLE_OF(delivery_record, created_at),
        WHOLE_OF(delivery_record, next_at),
        WHOLE_OF(delivery_record, ended_at),
        END,
};

const struct column columns_of_delivery_claim[] = {
        TEXT_OF(delivery_claim, id),
        WHOLE_OF(delivery_claim, attempts),
        WHOLE_OF(delivery_claim, until),
        TEXT_OF(delivery_claim, node),
        END,
};

const struct column columns_of_delivery_end[] = {
        TEXT_OF(delivery_end, id),
        WHOLE_OF(delivery_end, attempts),
        CHOICE_OF(delivery_end, state, delivery_state),
        WHOLE_OF(delivery_end, status),
        WHOLE_OF(delivery_end, next_at),
        WHOLE_OF(delivery_end, now),
        TEXT_OF(delivery_end, error),
        END,
};

const struct column columns_of_delivery_ref[] = {
        TEXT_OF(delivery_ref, webhook_id),
        TEXT_OF(delivery_ref, id),
        WHOLE_OF(delivery_ref, now),
        END,
};

const struct column columns_of_delivery_page[] = {
        TEXT_OF(delivery_page, webhook_id),
        FILTER_OF(delivery_page, state),
        WHOLE_OF(delivery_page, before),
        WHOLE_OF(delivery_page, limit),
        END,
};

const struct column columns_of_delivery_retention[] = {
        WHOLE_OF(delivery_retention, delivered_before),
        WHOLE_OF(delivery_retention, dead_before),
        END,
};

const struct column columns_of_project_page[] = {
        TEXT_OF(project_page, after),
        WHOLE_OF(project_page, limit),
        END,
};

const struct column columns_of_project_closing[] = {
        TEXT_OF(project_closing, id),
        BOOL_OF(project_closing, with_sandboxes),
        WHOLE_OF(project_closing, now),
        END,
};

const struct column columns_of_member_record[] = {
        TEXT_OF(member_record, project_id),  TEXT_OF(member_record, user_id),
        TEXT_OF(member_record, role),        WHOLE_OF(member_record, created_at),
        WHOLE_OF(member_record, updated_at), END,
};

const struct column columns_of_key_rotation[] = {
        TEXT_OF(key_rotation, project_id),
        TEXT_OF(key_rotation, id),
        HASH_OF(key_rotation, hash),
        TEXT_OF(key_rotation, prefix),
        WHOLE_OF(key_rotation, now),
        WHOLE_OF(key_rotation, until),
        END,
};

const struct column columns_of_config_record[] = {
        TEXT_OF(config_record, id),
        TEXT_OF(config_record, project_id),
        TEXT_OF(config_record, name),
        TEXT_OF(config_record, config_json),
        SECRET_OF(config_record, env_json, "sandbox_configs"),
        WHOLE_OF(config_record, created_at),
        WHOLE_OF(config_record, updated_at),
        END,
};

const struct column columns_of_config_change[] = {
        COLUMN_(COLUMN_TEXT, config_change, record.id, const char *, "id"),
        COLUMN_(COLUMN_TEXT, config_change, record.project_id, const char *, "project_id"),
        COLUMN_(COLUMN_TEXT, config_change, record.name, const char *, "name"),
        COLUMN_(COLUMN_TEXT, config_change, record.config_json, const char *, "config_json"),
        SECRET_(config_change, record.env_json, record.id, "env_json", "sandbox_configs"),
        COLUMN_(COLUMN_WHOLE, config_change, record.updated_at, int64_t, "updated_at"),
        WHOLE_OF(config_change, seen_at),
        END,
};

const struct column columns_of_lease_record[] = {
        TEXT_OF(lease_record, project_id),
        TEXT_OF(lease_record, key),
        TEXT_OF(lease_record, sandbox_id),
        CHOICE_OF(lease_record, status, lease_status),
        WHOLE_OF(lease_record, lock_version),
        WHOLE_OF(lease_record, epoch),
        WHOLE_OF(lease_record, creating_since),
        WHOLE_OF(lease_record, created_at),
        WHOLE_OF(lease_record, last_activity_at),
        WHOLE_OF(lease_record, usage_ms),
        WHOLE_OF(lease_record, active_since),
        TEXT_OF(lease_record, run),
        TEXT_OF(lease_record, spec_json),
        TEXT_OF(lease_record, name),
        SECRET_(lease_record, env_json, name, "env_json", "leases"),
        WHOLE_OF(lease_record, keep_until),
        CHOICE_OF(lease_record, actual, sandbox_state),
        TEXT_OF(lease_record, provider),
        TEXT_OF(lease_record, node),
        WHOLE_OF(lease_record, sandbox_activity_at),
        WHOLE_OF(lease_record, active_changed_at),
        WHOLE_OF(lease_record, active_ms),
        WHOLE_OF(lease_record, metered_ms),
        END,
};

const struct column columns_of_lease_page[] = {
        TEXT_OF(lease_page, project_id),
        TEXT_OF(lease_page, prefix),
        TEXT_OF(lease_page, after),
        WHOLE_OF(lease_page, limit),
        END,
};

const struct column columns_of_lease_stray[] = {
        TEXT_OF(lease_stray, sandbox_id),
        TEXT_OF(lease_stray, project_id),
        TEXT_OF(lease_stray, provider),
        TEXT_OF(lease_stray, node),
        CHOICE_OF(lease_stray, actual, sandbox_state),
        WHOLE_OF(lease_stray, claimed_at),
        END,
};

/* ---- usage ---- */

#define NUMBER_OF(s, m) COLUMN_(COLUMN_NUMBER, s, m, double, #m)

const struct column columns_of_meter_record[] = {
        TEXT_OF(meter_record, id),
        TEXT_OF(meter_record, project_id),
        TEXT_OF(meter_record, key_id),
        CHOICE_OF(meter_record, actual, sandbox_state),
        RESOURCES_OF(meter_record, resources),
        BOOL_OF(meter_record, persistent),
        WHOLE_OF(meter_record, active_changed_at),
        WHOLE_OF(meter_record, active_ms),
        WHOLE_OF(meter_record, metered_ms),
        WHOLE_OF(meter_record, metered_cpu_us),
        WHOLE_OF(meter_record, unbilled_nano),
        WHOLE_OF(meter_record, stored_mib),
        WHOLE_OF(meter_record, stored_at),
        END,
};

const struct column columns_of_meter_page[] = {
        TEXT_OF(meter_page, node),
        TEXT_OF(meter_page, after),
        WHOLE_OF(meter_page, before),
        WHOLE_OF(meter_page, limit),
        END,
};

const struct column columns_of_meter_mark[] = {
        TEXT_OF(meter_mark, id),
        WHOLE_OF(meter_mark, seen_metered_ms),
        WHOLE_OF(meter_mark, seen_stored_at),
        WHOLE_OF(meter_mark, metered_ms),
        WHOLE_OF(meter_mark, metered_cpu_us),
        WHOLE_OF(meter_mark, unbilled_nano),
        WHOLE_OF(meter_mark, stored_mib),
        WHOLE_OF(meter_mark, stored_at),
        END,
};

const struct column columns_of_usage_record[] = {
        TEXT_OF(usage_record, id),         TEXT_OF(usage_record, project_id),
        TEXT_OF(usage_record, key_id),     TEXT_OF(usage_record, sandbox_id),
        TEXT_OF(usage_record, run),        CHOICE_OF(usage_record, reason, usage_reason),
        WHOLE_OF(usage_record, hour),      WHOLE_OF(usage_record, active_ms),
        WHOLE_OF(usage_record, cpu_us),    WHOLE_OF(usage_record, storage_mib_s),
        WHOLE_OF(usage_record, usd_micro), NUMBER_OF(usage_record, vcpu),
        WHOLE_OF(usage_record, memory_mb), WHOLE_OF(usage_record, started_at),
        WHOLE_OF(usage_record, ended_at),  END,
};

const struct column columns_of_usage_query[] = {
        FILTER_OF(usage_query, project_id),
        FILTER_OF(usage_query, key_id),
        FILTER_OF(usage_query, sandbox_id),
        FILTER_OF(usage_query, run),
        WHOLE_OF(usage_query, from),
        WHOLE_OF(usage_query, to),
        CHOICE_OF(usage_query, group, usage_group),
        WHOLE_OF(usage_query, after_day),
        TEXT_OF(usage_query, after_name),
        WHOLE_OF(usage_query, limit),
        END,
};

const struct column columns_of_usage_sum[] = {
        WHOLE_OF(usage_sum, day),
        TEXT_OF(usage_sum, name),
        WHOLE_OF(usage_sum, active_ms),
        WHOLE_OF(usage_sum, cpu_us),
        WHOLE_OF(usage_sum, storage_mib_s),
        WHOLE_OF(usage_sum, usd_micro),
        NUMBER_OF(usage_sum, vcpu_ms),
        NUMBER_OF(usage_sum, memory_mib_ms),
        END,
};

const struct column columns_of_balance_record[] = {
        TEXT_OF(balance_record, project_id),
        WHOLE_OF(balance_record, deposited_micro),
        WHOLE_OF(balance_record, spent_micro),
        END,
};

const struct column columns_of_deposit_record[] = {
        TEXT_OF(deposit_record, project_id),
        TEXT_OF(deposit_record, id),
        WHOLE_OF(deposit_record, usd_micro),
        TEXT_OF(deposit_record, note),
        TEXT_OF(deposit_record, key_id),
        WHOLE_OF(deposit_record, created_at),
        END,
};

const struct column columns_of_budget_record[] = {
        TEXT_OF(budget_record, id),
        TEXT_OF(budget_record, project_id),
        CHOICE_OF(budget_record, scope, budget_scope),
        TEXT_OF(budget_record, subject),
        CHOICE_OF(budget_record, span, budget_window),
        WHOLE_OF(budget_record, limit_micro),
        WHOLE_OF(budget_record, warn_percent),
        WHOLE_OF(budget_record, spent_micro),
        WHOLE_OF(budget_record, window_at),
        WHOLE_OF(budget_record, warned_at),
        WHOLE_OF(budget_record, exceeded_at),
        WHOLE_OF(budget_record, created_at),
        END,
};

const struct column columns_of_spending[] = {
        TEXT_OF(spending, project_id),
        TEXT_OF(spending, key_id),
        TEXT_OF(spending, sandbox_id),
        WHOLE_OF(spending, usd_micro),
        WHOLE_OF(spending, day),
        WHOLE_OF(spending, month),
        END,
};

const struct column columns_of_snapshot_record[] = {
        TEXT_OF(snapshot_record, id),
        TEXT_OF(snapshot_record, project_id),
        TEXT_OF(snapshot_record, name),
        TEXT_OF(snapshot_record, sandbox_id),
        TEXT_OF(snapshot_record, sandbox_name),
        TEXT_OF(snapshot_record, parent_id),
        TEXT_OF(snapshot_record, template_id),
        TEXT_OF(snapshot_record, template_name),
        TEXT_OF(snapshot_record, provider),
        TEXT_OF(snapshot_record, node),
        CHOICE_OF(snapshot_record, state, snapshot_state),
        TEXT_OF(snapshot_record, method),
        TEXT_OF(snapshot_record, because),
        WHOLE_OF(snapshot_record, depth),
        WHOLE_OF(snapshot_record, frozen_us),
        WHOLE_OF(snapshot_record, created_at),
        CHOICE_OF(snapshot_record, kind, snapshot_kind),
        END,
};

const struct column columns_of_snapshot_page[] = {
        FILTER_OF(snapshot_page, project_id), FILTER_OF(snapshot_page, sandbox_id),
        FILTER_OF(snapshot_page, node),       FILTER_OF(snapshot_page, kind),
        WHOLE_OF(snapshot_page, page_at),     TEXT_OF(snapshot_page, page_id),
        WHOLE_OF(snapshot_page, limit),       END,
};

const struct column columns_of_snapshot_base[] = {
        TEXT_OF(snapshot_base, sandbox_id),
        TEXT_OF(snapshot_base, snapshot_id),
        TEXT_OF(snapshot_base, origin_id),
        END,
};

const struct column columns_of_once_record[] = {
        TEXT_OF(once_record, project_id),
        TEXT_OF(once_record, operation),
        TEXT_OF(once_record, key),
        HASH_OF(once_record, hash),
        TEXT_OF(once_record, sandbox_id),
        BOOL_OF(once_record, done),
        BOOL_OF(once_record, created),
        WHOLE_OF(once_record, begun_at),
        CHOICE_OF(once_record, actual, sandbox_state),
        END,
};

const struct column columns_of_once_change[] = {
        TEXT_OF(once_change, project_id), TEXT_OF(once_change, operation),
        TEXT_OF(once_change, key),        TEXT_OF(once_change, seen_id),
        TEXT_OF(once_change, sandbox_id), BOOL_OF(once_change, created),
        WHOLE_OF(once_change, now),       END,
};

const struct column columns_of_backup_record[] = {
        TEXT_OF(backup_record, id),
        TEXT_OF(backup_record, project_id),
        TEXT_OF(backup_record, name),
        TEXT_OF(backup_record, holder_id),
        TEXT_OF(backup_record, snapshot_id),
        TEXT_OF(backup_record, snapshot_name),
        TEXT_OF(backup_record, template_id),
        TEXT_OF(backup_record, template_name),
        TEXT_OF(backup_record, template_digest),
        TEXT_OF(backup_record, node),
        CHOICE_OF(backup_record, state, backup_state),
        TEXT_OF(backup_record, state_text),
        TEXT_OF(backup_record, sha256),
        WHOLE_OF(backup_record, size_bytes),
        WHOLE_OF(backup_record, files),
        WHOLE_OF(backup_record, files_bytes),
        BOOL_OF(backup_record, is_full),
        BOOL_OF(backup_record, is_brought),
        WHOLE_OF(backup_record, created_at),
        END,
};

const struct column columns_of_backup_page[] = {
        FILTER_OF(backup_page, project_id),
        FILTER_OF(backup_page, holder_id),
        FILTER_OF(backup_page, node),
        WHOLE_OF(backup_page, page_at),
        TEXT_OF(backup_page, page_id),
        WHOLE_OF(backup_page, limit),
        END,
};
