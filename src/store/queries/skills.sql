-- name: skill_put
-- takes: skill_record
INSERT INTO skills (id, project_id, name, description, files_json, file_count, size_bytes, updated_at)
VALUES (:id, :project_id, :name, :description, :files_json, :file_count, :size_bytes, :updated_at)
ON CONFLICT (project_id, name) DO UPDATE
SET description = excluded.description, files_json = excluded.files_json,
	file_count = excluded.file_count, size_bytes = excluded.size_bytes,
	updated_at = excluded.updated_at;

-- name: skill_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM skills WHERE project_id = :project_id;

-- name: skill_find
-- takes: record_lookup
-- gives: skill_record
SELECT id, project_id, name, description, files_json, file_count, size_bytes, updated_at
FROM skills WHERE project_id = :project_id AND name = :id;

-- name: skill_list
-- takes: record_lookup
-- gives: skill_record
SELECT id, project_id, name, description, '' AS files_json, file_count, size_bytes, updated_at
FROM skills WHERE project_id = :project_id ORDER BY name;

-- name: skill_remove
-- takes: record_lookup
DELETE FROM skills WHERE project_id = :project_id AND name = :id;

-- name: skill_remove_all
-- takes: record_lookup
DELETE FROM skills WHERE project_id = :id;
