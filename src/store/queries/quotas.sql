-- fragment: quota
scope, subject, name, value, window_at, used, updated_at

-- name: quota_put
-- takes: quota_record
INSERT INTO quotas ({quota}) VALUES (:scope, :subject, :name, :value, 0, 0, :updated_at)
ON CONFLICT (scope, subject, name) DO UPDATE SET value = :value, updated_at = :updated_at;

-- name: quota_remove
-- takes: quota_record
DELETE FROM quotas WHERE scope = :scope AND subject = :subject AND name = :name;

-- name: quota_find
-- takes: quota_record
-- gives: quota_record
SELECT {quota} FROM quotas WHERE scope = :scope AND subject = :subject AND name = :name;

-- name: quota_list
-- takes: quota_subject
-- gives: quota_record
SELECT {quota} FROM quotas WHERE scope = :scope AND subject = :subject ORDER BY name;

-- What holds for a caller, all in one look.
-- name: quota_list_applying
-- takes: quota_caller
-- gives: quota_record
SELECT {quota} FROM quotas WHERE scope = 'project' AND subject = :project_id
UNION ALL SELECT {quota} FROM quotas WHERE scope = 'key' AND subject = :key_id
UNION ALL SELECT {quota} FROM quotas WHERE scope = 'organization'
	AND subject = (SELECT organization_id FROM projects WHERE id = :project_id);

-- One row for each project of an organisation, so that a server finds the limit by the project.
-- name: quota_list_rates
-- takes: quota_rates
-- gives: quota_rate
SELECT scope, subject, value, subject AS holder FROM quotas
WHERE name = :name AND scope <> 'organization'
UNION ALL SELECT quotas.scope, quotas.subject, quotas.value, projects.id AS holder
FROM quotas JOIN projects ON projects.organization_id = quotas.subject
WHERE quotas.name = :name AND quotas.scope = 'organization';

-- The count of a window that is over begins anew.
-- name: quota_count_create
-- takes: quota_record
UPDATE quotas SET used = CASE WHEN window_at = :window_at THEN used + 1 ELSE 1 END,
	window_at = :window_at
WHERE scope = :scope AND subject = :subject AND name = :name;

-- fragment: quota_use
CAST(COALESCE(SUM(CASE WHEN actual IN ('stopped', 'archived') THEN 0 ELSE 1 END), 0) AS BIGINT) AS sandboxes_running,
	CAST(COALESCE(SUM(CASE WHEN actual IN ('stopped', 'archived') THEN 1 ELSE 0 END), 0) AS BIGINT) AS sandboxes_stopped,
	CAST(COALESCE(SUM(CASE WHEN actual IN ('stopped', 'archived') THEN 0 ELSE cpu END), 0) AS DOUBLE PRECISION) AS cpu,
	CAST(COALESCE(SUM(CASE WHEN actual IN ('stopped', 'archived') THEN 0 ELSE memory_mb END), 0) AS BIGINT) AS memory_mb,
	CAST(COALESCE(SUM(disk_mb), 0) AS BIGINT) AS disk_mb

-- name: quota_use_project
-- takes: quota_subject
-- gives: quota_use
SELECT {quota_use} FROM sandboxes
WHERE actual NOT IN ('deleting', 'deleted', 'failed') AND project_id = :subject;

-- name: quota_use_key
-- takes: quota_subject
-- gives: quota_use
SELECT {quota_use} FROM sandboxes
WHERE actual NOT IN ('deleting', 'deleted', 'failed') AND key_id = :subject;

-- name: quota_use_organization
-- takes: quota_subject
-- gives: quota_use
SELECT {quota_use} FROM sandboxes
WHERE actual NOT IN ('deleting', 'deleted', 'failed')
	AND project_id IN (SELECT id FROM projects WHERE organization_id = :subject);

-- name: quota_find_organization
-- takes: record_lookup
-- gives: quota_subject
SELECT 'organization' AS scope, organization_id AS subject FROM projects WHERE id = :id;

-- name: quota_count_named
-- takes: quota_rates
-- gives: row_count
SELECT COUNT(*) AS count FROM quotas WHERE name = :name;

-- name: quota_list_named
-- takes: quota_rates
-- gives: quota_record
SELECT {quota} FROM quotas WHERE name = :name ORDER BY scope, subject;

-- name: egress_cut_list
-- takes: egress_cut_page
-- gives: egress_cut_record
SELECT sandboxes.id AS id, sandboxes.project_id AS project_id, sandboxes.key_id AS key_id,
	projects.organization_id AS organization_id,
	sandboxes.egress_cut AS cut
FROM sandboxes JOIN projects ON projects.id = sandboxes.project_id
WHERE sandboxes.node = :node AND sandboxes.actual IN ('started', 'paused')
	AND (:cut_only = 0 OR sandboxes.egress_cut <> '') AND sandboxes.id > :after
ORDER BY sandboxes.id
LIMIT :limit;

-- name: egress_add
-- takes: egress_day
INSERT INTO egress_days (project_id, key_id, day, bytes) VALUES (:project_id, :key_id, :day, :bytes)
ON CONFLICT (project_id, day, key_id) DO UPDATE SET bytes = egress_days.bytes + excluded.bytes;

-- name: egress_purge
-- takes: record_lookup
DELETE FROM egress_days WHERE day < :now;

-- name: egress_sum_project
-- takes: quota_day
-- gives: quota_sum
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM egress_days
WHERE project_id = :subject AND day = :day;

-- name: egress_sum_key
-- takes: quota_day
-- gives: quota_sum
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM egress_days
WHERE key_id = :subject AND day = :day;

-- name: egress_sum_organization
-- takes: quota_day
-- gives: quota_sum
SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM egress_days
WHERE project_id IN (SELECT id FROM projects WHERE organization_id = :subject) AND day = :day;
