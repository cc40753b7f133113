-- fragment: project
id, name, cpu, memory_mb, disk_mb, pids, sandboxes_max, created_at

-- name: project_insert
-- takes: project_record
INSERT INTO projects ({project})
VALUES (:id, :name, :cpu, :memory_mb, :disk_mb, :pids, :sandboxes_max, :created_at)
ON CONFLICT DO NOTHING;

-- name: project_find
-- takes: lookup
-- gives: project_record
SELECT {project} FROM projects WHERE id = :id;

-- name: project_set_defaults
-- takes: project_record
UPDATE projects SET cpu = :cpu, memory_mb = :memory_mb, disk_mb = :disk_mb, pids = :pids
WHERE id = :id;

-- Check and count in one, so that no two creators can both take the last place.
-- name: project_admit
-- takes: admission
UPDATE projects SET sandboxes_living = sandboxes_living + 1
WHERE id = :project_id AND (:living_max = 0 OR sandboxes_living < :living_max);

-- name: project_release
-- takes: admission
UPDATE projects SET sandboxes_living = sandboxes_living - 1 WHERE id = :project_id;
