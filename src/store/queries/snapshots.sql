-- fragment: snapshot
id, project_id, name, sandbox_id, sandbox_name, parent_id, template_id, template_name, provider,
node, state, method, because, depth, frozen_us, created_at, kind

-- name: snapshot_insert
-- takes: snapshot_record
INSERT INTO snapshots ({snapshot}) VALUES ({:snapshot})
ON CONFLICT DO NOTHING;

-- name: snapshot_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM snapshots WHERE project_id = :project_id AND kind = 'taken';

-- By name or id.
-- name: snapshot_find
-- takes: record_lookup
-- gives: snapshot_record
SELECT {snapshot} FROM snapshots
WHERE (id = :id OR name = :id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY CASE WHEN id = :id THEN 0 ELSE 1 END
LIMIT 1;

-- name: snapshot_list
-- takes: snapshot_page
-- gives: snapshot_record
SELECT {snapshot} FROM snapshots
WHERE (:project_id IS NULL OR project_id = :project_id)
	AND (:sandbox_id IS NULL OR sandbox_id = :sandbox_id)
	AND (:node IS NULL OR node = :node)
	AND (:kind IS NULL OR kind = :kind)
	AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- Whatever it is not already.
-- name: snapshot_update
-- takes: snapshot_record
UPDATE snapshots
SET state = :state, method = :method, because = :because, depth = :depth, frozen_us = :frozen_us
WHERE id = :id;

-- name: snapshot_remove
-- takes: record_lookup
DELETE FROM snapshots WHERE id = :id;

-- Where it began stays.
-- name: snapshot_base_set
-- takes: snapshot_base
INSERT INTO snapshot_bases (sandbox_id, snapshot_id, origin_id)
VALUES (:sandbox_id, :snapshot_id, :origin_id)
ON CONFLICT (sandbox_id) DO UPDATE SET snapshot_id = excluded.snapshot_id;

-- name: snapshot_base_find
-- takes: record_lookup
-- gives: snapshot_base
SELECT sandbox_id, snapshot_id, origin_id FROM snapshot_bases WHERE sandbox_id = :id;
