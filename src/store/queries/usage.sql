-- fragment: meter
id, project_id, key_id, actual, persistent, cpu, memory_mb, disk_mb, pids, active_changed_at,
active_ms, metered_ms, metered_cpu_us, unbilled_nano, stored_mib, stored_at, egress_seen,
provider

-- A server meters what it has: it alone knows who used it, and whether it still runs. The first
-- condition is that of an index, word for word.
-- name: meter_list
-- takes: meter_page
-- gives: meter_record
SELECT {meter} FROM sandboxes
WHERE (actual = 'started' OR active_ms > metered_ms) AND id > :after AND node = :node
ORDER BY id
LIMIT :limit;

-- name: meter_find
-- takes: record_lookup
-- gives: meter_record
SELECT {meter} FROM sandboxes WHERE id = :id;

-- name: storage_list
-- takes: meter_page
-- gives: meter_record
SELECT {meter} FROM sandboxes
WHERE stored_mib > 0 AND stored_at < :before AND active_changed_at < :before
	AND (actual IN ('stopped', 'paused') OR (actual = 'started' AND persistent <> 0))
ORDER BY stored_at, id
LIMIT :limit;

-- name: meter_mark
-- takes: meter_mark
UPDATE sandboxes
SET metered_ms = :metered_ms, metered_cpu_us = :metered_cpu_us, unbilled_nano = :unbilled_nano,
	stored_mib = :stored_mib, stored_at = :stored_at
WHERE id = :id AND metered_ms = :seen_metered_ms AND stored_at = :seen_stored_at;

-- The counter begins anew with each start and resume from disk; active_changed_at tells them apart.
-- name: sent_mark
-- takes: sent_mark
UPDATE sandboxes SET egress_seen = :egress_seen
WHERE id = :id AND egress_seen = :seen_egress AND active_changed_at = :seen_changed_at;

-- name: sent_restart
-- takes: record_lookup
UPDATE sandboxes SET egress_seen = 0 WHERE id = :id;

-- name: usage_add
-- takes: usage_record
INSERT INTO usage_log (id, project_id, key_id, sandbox_id, run, reason, hour, active_ms, cpu_us,
	storage_mib_s, usd_micro, vcpu, memory_mb, started_at, ended_at, provider, conversation)
VALUES (:id, :project_id, :key_id, :sandbox_id, :run, :reason, :hour, :active_ms, :cpu_us,
	:storage_mib_s, :usd_micro, :vcpu, :memory_mb, :started_at, :ended_at, :provider,
	:conversation)
ON CONFLICT (sandbox_id, hour, reason, key_id, run, conversation) DO UPDATE
SET active_ms = usage_log.active_ms + excluded.active_ms,
	cpu_us = usage_log.cpu_us + excluded.cpu_us,
	storage_mib_s = usage_log.storage_mib_s + excluded.storage_mib_s,
	usd_micro = usage_log.usd_micro + excluded.usd_micro,
	vcpu = excluded.vcpu, memory_mb = excluded.memory_mb, ended_at = excluded.ended_at;

-- name: usage_purge
-- takes: record_lookup
DELETE FROM usage_log WHERE hour < :now;

-- vcpu_ms and memory_mib_ms are what was reserved, times how long. Rows of deleted sandboxes and
-- revoked keys still have names.
-- name: usage_sum
-- takes: usage_query
-- gives: usage_sum
SELECT day, name, COALESCE(CASE :group
		WHEN 'project' THEN (SELECT projects.name FROM projects WHERE projects.id = sums.name)
		WHEN 'key' THEN (SELECT keys.name FROM keys WHERE keys.id = sums.name)
		WHEN 'sandbox' THEN (SELECT sandboxes.name FROM sandboxes WHERE sandboxes.id = sums.name)
		ELSE '' END, '') AS title,
	active_ms, cpu_us, storage_mib_s, usd_micro, vcpu_ms, memory_mib_ms
FROM (
	SELECT CASE WHEN :group = 'day' THEN hour - hour % 86400000 ELSE 0 END AS day,
		CASE :group WHEN 'project' THEN usage_log.project_id WHEN 'key' THEN usage_log.key_id
			WHEN 'sandbox' THEN usage_log.sandbox_id WHEN 'run' THEN run
			WHEN 'conversation' THEN conversation
			WHEN 'reason' THEN usage_log.reason
			WHEN 'template' THEN COALESCE(sandboxes.template_name, '')
			WHEN 'user' THEN COALESCE(keys.user_id, '')
			WHEN 'label' THEN COALESCE((SELECT label.value
				FROM json_each(sandboxes.labels_json) AS label WHERE label.key = :label), '')
			ELSE '' END AS name,
		CAST(SUM(usage_log.active_ms) AS BIGINT) AS active_ms,
		CAST(SUM(usage_log.cpu_us) AS BIGINT) AS cpu_us,
		CAST(SUM(usage_log.storage_mib_s) AS BIGINT) AS storage_mib_s,
		CAST(SUM(usage_log.usd_micro) AS BIGINT) AS usd_micro,
		CAST(SUM(usage_log.vcpu * usage_log.active_ms) AS DOUBLE PRECISION) AS vcpu_ms,
		CAST(SUM(1.0 * usage_log.memory_mb * usage_log.active_ms) AS DOUBLE PRECISION)
			AS memory_mib_ms
	FROM usage_log
	LEFT JOIN sandboxes ON :group IN ('template', 'label') AND sandboxes.id = usage_log.sandbox_id
	LEFT JOIN keys ON :group = 'user' AND keys.id = usage_log.key_id
	WHERE hour >= :from AND hour < :to
		AND (:project_id IS NULL OR usage_log.project_id = :project_id)
		AND (:key_id IS NULL OR usage_log.key_id = :key_id)
		AND (:sandbox_id IS NULL OR usage_log.sandbox_id = :sandbox_id)
		AND (:run IS NULL OR run = :run)
		AND (:conversation IS NULL OR conversation = :conversation)
	GROUP BY 1, 2) AS sums
WHERE (day, name) > (:after_day, :after_name)
ORDER BY day, name
LIMIT :limit;

-- name: balance_find
-- takes: record_lookup
-- gives: balance_record
SELECT project_id, deposited_micro, spent_micro FROM balances WHERE project_id = :id;

-- name: balance_add
-- takes: balance_record
INSERT INTO balances (project_id, deposited_micro, spent_micro)
VALUES (:project_id, :deposited_micro, :spent_micro)
ON CONFLICT (project_id) DO UPDATE
SET deposited_micro = balances.deposited_micro + excluded.deposited_micro,
	spent_micro = balances.spent_micro + excluded.spent_micro;

-- name: deposit_insert
-- takes: deposit_record
INSERT INTO deposits (project_id, id, usd_micro, note, key_id, created_at)
VALUES (:project_id, :id, :usd_micro, :note, :key_id, :created_at)
ON CONFLICT DO NOTHING;

-- name: deposit_find
-- takes: deposit_record
-- gives: deposit_record
SELECT project_id, id, usd_micro, note, key_id, created_at FROM deposits
WHERE project_id = :project_id AND id = :id;

-- fragment: budget
id, project_id, scope, subject, span, limit_micro, warn_percent, spent_micro, window_at, warned_at,
exceeded_at, created_at

-- name: budget_insert
-- takes: budget_record
INSERT INTO budgets ({budget})
VALUES ({:budget});

-- Which row of the log counts for which budget: the only place that says it. A label whose name has
-- '=' is part of no budget, because NAME=VALUE could mean two labels.
-- fragment: counts
budgets.project_id = usage_log.project_id AND CASE budgets.scope
	WHEN 'project' THEN usage_log.project_id = budgets.subject
	WHEN 'key' THEN usage_log.key_id = budgets.subject
	WHEN 'sandbox' THEN usage_log.sandbox_id = budgets.subject
	WHEN 'run' THEN usage_log.run = budgets.subject
	WHEN 'conversation' THEN usage_log.conversation = budgets.subject
	ELSE EXISTS (SELECT 1 FROM sandboxes, json_each(sandboxes.labels_json) AS label
		WHERE sandboxes.id = usage_log.sandbox_id AND instr(label.key, '=') = 0
			AND label.key || '=' || label.value = budgets.subject) END

-- name: budget_recount
-- takes: budget_record
UPDATE budgets
SET spent_micro = (SELECT CAST(COALESCE(SUM(usage_log.usd_micro), 0) AS BIGINT) FROM usage_log
	WHERE usage_log.project_id = :project_id AND usage_log.hour >= :window_at AND {counts})
WHERE id = :id;

-- name: budget_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM budgets WHERE project_id = :project_id;

-- name: budget_list
-- takes: record_lookup
-- gives: budget_record
SELECT {budget} FROM budgets
WHERE (:project_id IS NULL OR project_id = :project_id)
ORDER BY created_at, id;

-- name: budget_find
-- takes: record_lookup
-- gives: budget_record
SELECT {budget} FROM budgets WHERE project_id = :project_id AND id = :id;

-- What was told of the old limit may be told of the new one.
-- name: budget_update
-- takes: budget_record
UPDATE budgets
SET limit_micro = :limit_micro, warn_percent = :warn_percent, warned_at = -1, exceeded_at = -1
WHERE project_id = :project_id AND id = :id;

-- name: budget_remove
-- takes: record_lookup
DELETE FROM budgets WHERE project_id = :project_id AND id = :id;

-- name: budget_remove_all
-- takes: record_lookup
DELETE FROM budgets WHERE project_id = :id;

-- name: budget_warn
-- takes: touch
UPDATE budgets SET warned_at = :at WHERE id = :id AND warned_at <> :at;

-- name: budget_exceed
-- takes: touch
UPDATE budgets SET exceeded_at = :at WHERE id = :id AND exceeded_at <> :at;

-- Of the row that was just written. A spending of a window that is over no longer counts.
-- name: budget_spend
-- takes: spending
UPDATE budgets
SET spent_micro = CASE
		WHEN window_at = CASE span WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END
			THEN spent_micro + :usd_micro
		WHEN window_at > CASE span WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END
			THEN spent_micro
		ELSE :usd_micro END,
	window_at = CASE
		WHEN window_at > CASE span WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END
			THEN window_at
		ELSE CASE span WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END END
WHERE project_id = :project_id AND EXISTS (SELECT 1 FROM usage_log
	WHERE usage_log.sandbox_id = :sandbox_id AND usage_log.hour = :hour
		AND usage_log.reason = :reason AND usage_log.key_id = :key_id
		AND usage_log.run = :run AND usage_log.conversation = :conversation
		AND {counts});
