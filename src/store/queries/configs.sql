-- secret: env_json of sandbox_configs by id
-- fragment: config
id, project_id, name, config_json, env_json, created_at, updated_at

-- name: config_insert
-- takes: config_record
INSERT INTO sandbox_configs ({config})
VALUES (:id, :project_id, :name, :config_json, COALESCE(NULLIF(:env_json, ''), '{}'), :created_at,
	:updated_at)
ON CONFLICT DO NOTHING;

-- name: config_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM sandbox_configs WHERE project_id = :project_id;

-- name: config_find
-- takes: record_lookup
-- gives: config_record
SELECT {config} FROM sandbox_configs
WHERE project_id = :project_id AND (id = :id OR name = :id)
ORDER BY CASE WHEN id = :id THEN 0 ELSE 1 END
LIMIT 1;

-- name: config_list
-- takes: record_lookup
-- gives: config_record
SELECT {config} FROM sandbox_configs WHERE project_id = :project_id ORDER BY name;

-- name: config_update
-- takes: config_change
UPDATE sandbox_configs
SET name = :name, config_json = :config_json,
	env_json = COALESCE(NULLIF(:env_json, ''), '{}'), updated_at = :updated_at
WHERE id = :id AND project_id = :project_id AND updated_at = :seen_at
	AND NOT EXISTS (
		SELECT 1 FROM sandbox_configs AS other
		WHERE other.project_id = :project_id AND other.name = :name AND other.id <> :id);

-- name: config_remove
-- takes: record_lookup
DELETE FROM sandbox_configs WHERE id = :id AND project_id = :project_id;

-- name: config_remove_all
-- takes: record_lookup
DELETE FROM sandbox_configs WHERE project_id = :id;
