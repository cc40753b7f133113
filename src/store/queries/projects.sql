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
