-- name: once_insert
-- takes: once_record
INSERT INTO once (project_id, operation, key, hash, sandbox_id, done, created, begun_at)
VALUES (:project_id, :operation, :key, :hash, :sandbox_id, 0, 0, :begun_at)
ON CONFLICT DO NOTHING;

-- name: once_find
-- takes: once_record
-- gives: once_record
SELECT once.project_id AS project_id, once.operation AS operation, once.key AS key,
	once.hash AS hash, once.sandbox_id AS sandbox_id, once.done AS done,
	once.created AS created, once.begun_at AS begun_at,
	COALESCE(sandboxes.actual, 'deleted') AS actual
FROM once LEFT JOIN sandboxes ON sandboxes.id = once.sandbox_id
WHERE once.project_id = :project_id AND once.operation = :operation AND once.key = :key;

-- Compare and set, on the sandbox that was to be made.
-- name: once_take_over
-- takes: once_change
UPDATE once SET sandbox_id = :sandbox_id, begun_at = :now
WHERE project_id = :project_id AND operation = :operation AND key = :key
	AND sandbox_id = :seen_id AND done = 0;

-- name: once_done
-- takes: once_change
UPDATE once SET done = 1, created = :created, sandbox_id = :sandbox_id
WHERE project_id = :project_id AND operation = :operation AND key = :key
	AND sandbox_id = :seen_id;

-- name: once_remove
-- takes: once_change
DELETE FROM once
WHERE project_id = :project_id AND operation = :operation AND key = :key
	AND sandbox_id = :seen_id AND done = 0;

-- name: once_purge
-- takes: record_lookup
DELETE FROM once WHERE begun_at < :now;
