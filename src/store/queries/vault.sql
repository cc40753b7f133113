-- secret: value of vault by id
-- fragment: vault
id, project_id, name, value, metadata_json, version, created_at, updated_at

-- name: vault_insert
-- takes: vault_record
INSERT INTO vault ({vault})
VALUES (:id, :project_id, :name, :value, :metadata_json, 1, :created_at, :updated_at)
ON CONFLICT DO NOTHING;

-- name: vault_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM vault WHERE project_id = :project_id;

-- name: vault_update
-- takes: vault_record
-- gives: vault_record
UPDATE vault
SET value = :value, metadata_json = :metadata_json, version = version + 1, updated_at = :updated_at
WHERE id = :id AND project_id = :project_id
RETURNING {vault};

-- name: vault_describe
-- takes: vault_record
-- gives: vault_record
UPDATE vault SET metadata_json = :metadata_json, updated_at = :updated_at
WHERE id = :id AND project_id = :project_id
RETURNING {vault};

-- name: vault_find
-- takes: record_lookup
-- gives: vault_record
SELECT {vault} FROM vault WHERE project_id = :project_id AND (id = :id OR name = :id);

-- name: vault_list
-- takes: record_lookup
-- gives: vault_record
SELECT {vault} FROM vault WHERE project_id = :project_id ORDER BY name;

-- name: vault_remove
-- takes: record_lookup
DELETE FROM vault WHERE project_id = :project_id AND (id = :id OR name = :id);

-- name: vault_remove_all
-- takes: record_lookup
DELETE FROM vault WHERE project_id = :id;
