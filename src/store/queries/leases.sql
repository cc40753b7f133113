-- secret: env_json of leases by name
-- fragment: lease_columns
project_id, key, sandbox_id, status, lock_version, epoch, creating_since, created_at,
last_activity_at, usage_ms, active_since, run, spec_json, env_json

-- With the state and the last use of its sandbox, as they are now.
-- fragment: lease_seen
leases.project_id AS project_id, leases.key AS key, leases.sandbox_id AS sandbox_id,
leases.status AS status, leases.lock_version AS lock_version, leases.epoch AS epoch,
leases.creating_since AS creating_since, leases.created_at AS created_at,
leases.last_activity_at AS last_activity_at, leases.usage_ms AS usage_ms,
leases.active_since AS active_since, leases.run AS run, leases.spec_json AS spec_json,
leases.project_id || '/' || leases.key AS name, leases.env_json AS env_json,
COALESCE(sandboxes.actual, 'deleted') AS actual, COALESCE(sandboxes.provider, '') AS provider,
COALESCE(sandboxes.node, '') AS node,
COALESCE(sandboxes.last_activity_at, 0) AS sandbox_activity_at,
COALESCE(sandboxes.awake_until, 0) AS keep_until,
COALESCE(sandboxes.active_changed_at, 0) AS active_changed_at,
COALESCE(sandboxes.active_ms, 0) AS active_ms,
COALESCE(sandboxes.metered_ms, 0) AS metered_ms
FROM leases LEFT JOIN sandboxes ON sandboxes.id = leases.sandbox_id

-- name: lease_find
-- takes: lease_record
-- gives: lease_record
SELECT {lease_seen} WHERE leases.project_id = :project_id AND leases.key = :key;

-- Those of sessions that have a sandbox, or get one.
-- name: lease_count_sessions
-- takes: lease_record
-- gives: row_count
SELECT count(*) AS count
FROM leases LEFT JOIN sandboxes ON sandboxes.id = leases.sandbox_id
WHERE leases.project_id = :project_id AND substr(leases.key, 1, 8) = 'session:'
	AND (leases.status = 'creating' OR (leases.status = 'ready'
		AND COALESCE(sandboxes.actual, 'deleted') NOT IN ('deleting', 'deleted', 'failed')));

-- name: lease_list
-- takes: lease_page
-- gives: lease_record
SELECT {lease_seen}
WHERE leases.project_id = :project_id AND leases.key > :after
	AND substr(leases.key, 1, length(:prefix)) = :prefix
ORDER BY leases.key
LIMIT :limit;

-- name: lease_insert
-- takes: lease_record
INSERT INTO leases ({lease_columns})
VALUES (:project_id, :key, :sandbox_id, :status, 1, 1, :creating_since, :created_at,
	:last_activity_at, 0, 0, :run, :spec_json, :env_json)
ON CONFLICT DO NOTHING;

-- name: lease_replace
-- takes: lease_record
UPDATE leases
SET sandbox_id = :sandbox_id, status = :status, lock_version = lock_version + 1, epoch = :epoch,
	creating_since = :creating_since, last_activity_at = :last_activity_at,
	usage_ms = :usage_ms, active_since = :active_since, run = :run,
	spec_json = :spec_json, env_json = :env_json
WHERE project_id = :project_id AND key = :key AND lock_version = :lock_version;

-- Whose sandbox the row names has won, whatever has happened to the row meanwhile.
-- name: lease_finish
-- takes: lease_record
UPDATE leases
SET status = 'ready', lock_version = lock_version + 1, last_activity_at = :last_activity_at,
	active_since = :active_since
WHERE project_id = :project_id AND key = :key AND sandbox_id = :sandbox_id;

-- name: lease_remove
-- takes: lease_record
DELETE FROM leases
WHERE project_id = :project_id AND key = :key AND lock_version = :lock_version;

-- Claims whose time is over, and leases whose sandbox has gone.
-- name: lease_unsound
-- takes: record_lookup
-- gives: lease_record
SELECT {lease_seen}
WHERE (leases.status = 'creating' AND (leases.creating_since < :now
		OR COALESCE(sandboxes.actual, '') IN ('started', 'failed')))
	OR (leases.status = 'ready'
		AND COALESCE(sandboxes.actual, 'deleted') IN ('deleting', 'deleted', 'failed'))
LIMIT 1000;

-- name: lease_overdue
-- takes: record_lookup
-- gives: lease_record
SELECT {lease_seen}
WHERE leases.status = 'creating' AND leases.creating_since < :now
ORDER BY leases.creating_since
LIMIT 1000;

-- name: lease_remove_all
-- takes: record_lookup
DELETE FROM leases WHERE project_id = :id;

-- name: lease_purge
-- takes: record_lookup
DELETE FROM leases WHERE status = 'empty' AND last_activity_at < :now;

-- One that is reset is there already.
-- name: lease_sandbox_insert
-- takes: lease_record
INSERT INTO lease_sandboxes (sandbox_id, project_id, key, epoch, claimed_at)
VALUES (:sandbox_id, :project_id, :key, :epoch, :creating_since)
ON CONFLICT (sandbox_id) DO NOTHING;

-- name: lease_sandbox_remove
-- takes: record_lookup
DELETE FROM lease_sandboxes WHERE sandbox_id = :id;

-- name: lease_strays
-- gives: lease_stray
SELECT made.sandbox_id AS sandbox_id, made.project_id AS project_id,
	made.claimed_at AS claimed_at, COALESCE(sandboxes.actual, 'pending') AS actual,
	COALESCE(sandboxes.provider, '') AS provider, COALESCE(sandboxes.node, '') AS node
FROM lease_sandboxes AS made
LEFT JOIN leases ON leases.project_id = made.project_id AND leases.key = made.key
	AND leases.sandbox_id = made.sandbox_id
LEFT JOIN sandboxes ON sandboxes.id = made.sandbox_id
WHERE leases.key IS NULL
LIMIT 1000;
