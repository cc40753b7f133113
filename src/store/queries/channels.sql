-- secret: token of channels by id
-- fragment: channel
id, project_id, name, kind, base_url, token, created_at, updated_at

-- name: channel_insert
-- takes: channel_record
INSERT INTO channels ({channel}) VALUES ({:channel});

-- name: channel_update
-- takes: channel_record
UPDATE channels SET kind = :kind, base_url = :base_url, token = :token, updated_at = :updated_at
WHERE id = :id;

-- name: channel_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM channels WHERE project_id = :project_id;

-- name: channel_find
-- takes: channel_ref
-- gives: channel_record
SELECT {channel} FROM channels WHERE project_id = :project_id AND name = :name;

-- name: channel_list
-- takes: record_lookup
-- gives: channel_record
SELECT {channel} FROM channels WHERE project_id = :project_id ORDER BY name;

-- name: channel_remove
-- takes: channel_ref
DELETE FROM channels WHERE project_id = :project_id AND name = :name;
