-- fragment: volume
id, project_id, name, provider, node, size_mb, size_is_advisory, state, created_at, updated_at,
version, workspace

-- name: volume_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM volumes WHERE project_id = :project_id;

-- A project that is being deleted takes nothing new.
-- name: volume_admit
-- takes: record_lookup
UPDATE projects SET name = name WHERE id = :project_id AND closing = 0;

-- name: volume_insert
-- takes: volume_record
INSERT INTO volumes ({volume})
VALUES (:id, :project_id, :name, :provider, :node, :size_mb, :size_is_advisory, :state,
	:created_at, :updated_at, 1, :workspace)
ON CONFLICT DO NOTHING;

-- name: volume_find
-- takes: record_lookup
-- gives: volume_record
SELECT {volume} FROM volumes
WHERE (id = :id OR name = :id) AND project_id = :project_id
ORDER BY CASE WHEN id = :id THEN 0 ELSE 1 END
LIMIT 1;

-- name: volume_find_by_id
-- takes: record_lookup
-- gives: volume_record
SELECT {volume} FROM volumes WHERE id = :id;

-- name: volume_list
-- takes: record_lookup
-- gives: volume_record
SELECT {volume} FROM volumes WHERE project_id = :project_id ORDER BY name;

-- name: volume_list_all
-- gives: volume_record
SELECT {volume} FROM volumes ORDER BY created_at, id;

-- name: volume_move
-- takes: volume_move
-- gives: volume_record
UPDATE volumes
SET state = :to, size_is_advisory = CASE WHEN :to = 'ready' THEN :size_is_advisory
		ELSE size_is_advisory END,
	size_mb = CASE WHEN :size_mb > size_mb THEN :size_mb ELSE size_mb END,
	updated_at = :now, version = version + 1
WHERE id = :id AND state = :from
RETURNING {volume};

-- Whoever gives a volume to a sandbox, or takes it away for good, changes its row first: from then
-- on nobody else does either until the transaction is over.
-- name: volume_claim
-- takes: record_lookup
-- gives: volume_record
UPDATE volumes SET updated_at = :now, version = version + 1
WHERE id = :id AND state = 'ready'
RETURNING {volume};

-- name: volume_remove
-- takes: record_lookup
DELETE FROM volumes WHERE id = :id AND state = 'deleting';

-- fragment: mount
mounts.sandbox_id, mounts.volume_id, mounts.path, mounts.subpath, mounts.is_read_only,
mounts.state, mounts.created_at,
volumes.name AS volume_name, sandboxes.name AS sandbox_name, sandboxes.actual AS sandbox_state

-- fragment: mount_source
FROM mounts
JOIN volumes ON volumes.id = mounts.volume_id
JOIN sandboxes ON sandboxes.id = mounts.sandbox_id

-- name: mount_insert
-- takes: mount_record
INSERT INTO mounts (sandbox_id, volume_id, path, subpath, is_read_only, state, created_at)
VALUES (:sandbox_id, :volume_id, :path, :subpath, :is_read_only, :state, :created_at)
ON CONFLICT DO NOTHING;

-- name: mount_list_of_sandbox
-- takes: record_lookup
-- gives: mount_record
SELECT {mount} {mount_source} WHERE mounts.sandbox_id = :id ORDER BY mounts.path;

-- name: mount_list_of_volume
-- takes: record_lookup
-- gives: mount_record
SELECT {mount} {mount_source}
WHERE mounts.volume_id = :id AND sandboxes.actual NOT IN ('deleted', 'failed')
ORDER BY mounts.created_at, mounts.sandbox_id;

-- name: mount_list_of_project
-- takes: record_lookup
-- gives: mount_record
SELECT {mount} {mount_source}
WHERE volumes.project_id = :project_id AND sandboxes.actual NOT IN ('deleted', 'failed')
ORDER BY mounts.created_at, mounts.sandbox_id;

-- name: mount_list_unfinished
-- gives: mount_record
SELECT {mount} {mount_source} WHERE mounts.state <> 'attached' ORDER BY mounts.created_at;

-- name: mount_move
-- takes: mount_move
UPDATE mounts SET state = :to
WHERE sandbox_id = :sandbox_id AND volume_id = :volume_id AND state = :from;

-- One that was never there, or nobody knows to have been.
-- name: mount_remove_attaching
-- takes: mount_record
DELETE FROM mounts
WHERE sandbox_id = :sandbox_id AND volume_id = :volume_id AND state = 'attaching';

-- name: mount_remove
-- takes: mount_record
DELETE FROM mounts WHERE sandbox_id = :sandbox_id AND volume_id = :volume_id;

-- name: mount_remove_of_volume
-- takes: record_lookup
DELETE FROM mounts WHERE volume_id = :id;

-- Of sandboxes that are gone; all, or of one volume.
-- name: mount_list_gone
-- takes: record_lookup
-- gives: mount_record
SELECT {mount} {mount_source}
WHERE sandboxes.actual = 'deleted' AND (:id = '' OR mounts.volume_id = :id)
ORDER BY mounts.created_at, mounts.sandbox_id
LIMIT 1000;
