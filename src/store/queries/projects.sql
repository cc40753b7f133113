-- prefix: max_ of maximums
-- fragment: project
id, name, organization_id, cpu, memory_mb, disk_mb, pids, max_cpu, max_memory_mb, max_disk_mb, max_pids,
sandboxes_max, {inherited_timeouts}, terminal_ttl_ms, artifacts_max_mb, artifacts_keep_ms, storage_max_mb, record_terminals, closing, created_at, version, provider, isolation, source_address

-- name: project_insert
-- takes: project_record
INSERT INTO projects ({project})
VALUES (:id, :name, CASE WHEN :organization_id = '' THEN 'default' ELSE :organization_id END, :cpu, :memory_mb, :disk_mb, :pids, :max_cpu, :max_memory_mb, :max_disk_mb,
	:max_pids, :sandboxes_max, {:inherited_timeouts}, :terminal_ttl_ms, :artifacts_max_mb, :artifacts_keep_ms, :storage_max_mb, :record_terminals,
	:closing, :created_at, 1, :provider, :isolation,
	CASE WHEN :source_address IS NULL THEN '' ELSE :source_address END)
ON CONFLICT DO NOTHING;

-- name: project_count
-- gives: row_count
SELECT count(*) AS count FROM projects;

-- name: project_find
-- takes: record_lookup
-- gives: project_record
SELECT {project} FROM projects WHERE id = :id;

-- An id comes before the name of another project.
-- name: project_find_named
-- takes: record_lookup
-- gives: project_record
SELECT {project} FROM projects WHERE id = :id OR name = :id
ORDER BY CASE WHEN id = :id THEN 0 ELSE 1 END LIMIT 1;

-- name: project_list
-- takes: project_page
-- gives: project_record
SELECT {project} FROM projects WHERE name > :after ORDER BY name LIMIT :limit;

-- name: project_list_sources
-- gives: project_record
SELECT {project} FROM projects WHERE source_address <> '' ORDER BY id;

-- name: project_count_sources
-- takes: project_record
-- gives: row_count
SELECT count(*) AS count FROM projects WHERE source_address <> '' AND id <> :id;

-- name: project_list_closing
-- gives: project_record
SELECT {project} FROM projects WHERE closing <> 0 ORDER BY name;

-- Whoever comes first has the project's members, keys and settings for himself until his
-- transaction ends.
-- name: project_lock
-- takes: record_lookup
UPDATE projects SET name = name WHERE id = :project_id;

-- name: project_update
-- takes: project_record
UPDATE projects
SET name = :name, organization_id = :organization_id, cpu = :cpu, memory_mb = :memory_mb, disk_mb = :disk_mb, pids = :pids,
	max_cpu = :max_cpu, max_memory_mb = :max_memory_mb, max_disk_mb = :max_disk_mb,
	max_pids = :max_pids, sandboxes_max = :sandboxes_max,
	{=inherited_timeouts}, terminal_ttl_ms = :terminal_ttl_ms,
	artifacts_max_mb = :artifacts_max_mb, artifacts_keep_ms = :artifacts_keep_ms,
	storage_max_mb = :storage_max_mb,
	record_terminals = :record_terminals, provider = :provider,
	isolation = :isolation, version = version + 1,
	source_address = CASE WHEN :source_address IS NULL THEN source_address ELSE :source_address END
WHERE id = :id
	AND NOT EXISTS (SELECT 1 FROM projects AS other WHERE other.name = :name AND other.id <> :id);

-- name: project_count_of_source
-- takes: project_record
-- gives: row_count
SELECT count(*) AS count FROM projects WHERE source_address = :source_address AND id <> :id;

-- name: project_close
-- takes: project_closing
UPDATE projects SET closing = 1
WHERE id = :id AND (:with_sandboxes <> 0 OR NOT (
	EXISTS (SELECT 1 FROM sandboxes WHERE project_id = :id AND actual <> 'deleted')
	OR EXISTS (SELECT 1 FROM volumes WHERE project_id = :id)));

-- What a project keeps: bytes of each kind, as they were measured last, without the row `id`. What is
-- still being made counts with what it has by now, unless it was begun after `before`. Templates that
-- share a folder have its files once.
-- name: project_storage
-- takes: storage_look
-- gives: project_storage
SELECT (SELECT CAST(COALESCE(SUM(folders.bytes), 0) AS BIGINT) FROM (
		SELECT MAX(size_bytes) AS bytes FROM templates
		WHERE project_id = :project_id AND id <> :id AND state <> 'failed'
			AND (state <> 'building' OR created_at <= :before)
		GROUP BY folder) AS folders) AS templates,
	(SELECT CAST(COALESCE(SUM(holdings.bytes), 0) AS BIGINT)
		FROM snapshots JOIN holdings ON holdings.id = snapshots.id
		WHERE snapshots.project_id = :project_id AND snapshots.id <> :id
			AND snapshots.kind = 'taken') AS snapshots,
	(SELECT CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) FROM backups
		WHERE project_id = :project_id AND id <> :id AND state <> 'failed'
			AND (state <> 'making' OR created_at <= :before)) AS backups,
	(SELECT CAST(COALESCE(SUM(holdings.bytes), 0) AS BIGINT)
		FROM volumes JOIN holdings ON holdings.id = volumes.id
		WHERE volumes.project_id = :project_id AND volumes.id <> :id) AS volumes;

-- What still refers to it, so that nothing is left without an owner.
-- name: project_holds
-- takes: record_lookup
-- gives: row_count
SELECT (SELECT count(*) FROM sandboxes WHERE project_id = :id AND actual <> 'deleted')
	+ (SELECT count(*) FROM snapshots WHERE project_id = :id)
	+ (SELECT count(*) FROM backups WHERE project_id = :id)
	+ (SELECT count(*) FROM templates WHERE project_id = :id)
	+ (SELECT count(*) FROM volumes WHERE project_id = :id) AS count;

-- name: project_remove_webhooks
-- takes: record_lookup
DELETE FROM webhooks WHERE project_id = :id;

-- name: project_remove_sandboxes
-- takes: record_lookup
DELETE FROM sandboxes WHERE project_id = :id AND actual = 'deleted';

-- name: project_remove
-- takes: record_lookup
DELETE FROM projects WHERE id = :id AND closing <> 0;

-- Check and count in one, so that no two creators can both take the last place. `version`: of the row
-- that the sandbox was worked out from.
-- name: project_admit
-- takes: project_admission
UPDATE projects SET sandboxes_living = sandboxes_living + 1
WHERE id = :project_id AND closing = 0 AND (:version = 0 OR version = :version)
	AND (:living_max = 0 OR sandboxes_living < :living_max);

-- name: project_release
-- takes: project_admission
UPDATE projects SET sandboxes_living = sandboxes_living - 1 WHERE id = :project_id;
