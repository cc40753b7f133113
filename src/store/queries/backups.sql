-- fragment: backup
id, project_id, name, holder_id, snapshot_id, snapshot_name, template_id, template_name,
template_digest, node, state, state_text, sha256, size_bytes, files, files_bytes, is_full,
is_brought, created_at

-- name: backup_insert
-- takes: backup_record
INSERT INTO backups ({backup}) VALUES ({:backup})
ON CONFLICT DO NOTHING;

-- name: backup_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM backups WHERE project_id = :project_id AND holder_id = '';

-- By name or id.
-- name: backup_find
-- takes: record_lookup
-- gives: backup_record
SELECT {backup} FROM backups
WHERE (id = :id OR name = :id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY CASE WHEN id = :id THEN 0 ELSE 1 END
LIMIT 1;

-- name: backup_of_id
-- takes: record_lookup
-- gives: backup_record
SELECT {backup} FROM backups WHERE id = :id;

-- name: backup_list
-- takes: backup_page
-- gives: backup_record
SELECT {backup} FROM backups
WHERE (:project_id IS NULL OR project_id = :project_id)
	AND (:holder_id IS NULL OR holder_id = :holder_id)
	AND (:node IS NULL OR node = :node)
	AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- One that is being removed stays so.
-- name: backup_update
-- takes: backup_record
UPDATE backups
SET state = :state, state_text = :state_text, snapshot_id = :snapshot_id,
	snapshot_name = :snapshot_name, template_id = :template_id, template_name = :template_name,
	template_digest = :template_digest, sha256 = :sha256, size_bytes = :size_bytes,
	files = :files, files_bytes = :files_bytes, is_full = :is_full
WHERE id = :id AND (state <> 'removing' OR :state = 'removing');

-- name: backup_remove
-- takes: record_lookup
DELETE FROM backups WHERE id = :id;
