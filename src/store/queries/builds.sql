-- fragment: build
id, project_id, key_id, name, source, template_id, state, step, step_count, cached_count, exit_code,
message, sandbox_id, node, log_lines, created_at, started_at, ended_at

-- name: build_insert
-- takes: build_record
INSERT INTO builds ({build}) VALUES ({:build})
ON CONFLICT DO NOTHING;

-- name: build_find
-- takes: record_lookup
-- gives: build_record
SELECT {build} FROM builds
WHERE id = :id AND (:project_id IS NULL OR project_id = :project_id);

-- name: build_list
-- takes: build_page
-- gives: build_record
SELECT {build} FROM builds
WHERE project_id = :project_id AND (:name IS NULL OR name = :name)
	AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- name: build_unfinished
-- takes: record_lookup
-- gives: build_record
SELECT {build} FROM builds
WHERE state IN ('waiting', 'building') AND node = :id
ORDER BY created_at, id;

-- One that has ended stays as it is.
-- name: build_update
-- takes: build_record
UPDATE builds
SET state = :state, step = :step, cached_count = :cached_count, exit_code = :exit_code,
	message = :message, sandbox_id = :sandbox_id, template_id = :template_id,
	log_lines = :log_lines, started_at = :started_at, ended_at = :ended_at
WHERE id = :id AND state IN ('waiting', 'building');

-- name: build_remove
-- takes: record_lookup
DELETE FROM builds
WHERE id = :id AND project_id = :project_id AND state NOT IN ('waiting', 'building');

-- name: build_purge
-- takes: record_lookup
DELETE FROM builds WHERE ended_at > 0 AND ended_at < :now;

-- name: build_log_add
-- takes: build_chunk
INSERT INTO build_logs (build_id, first_line, line_count, text)
VALUES (:build_id, :first_line, :line_count, :text)
ON CONFLICT DO NOTHING;

-- name: build_log_list
-- takes: build_log_page
-- gives: build_chunk
SELECT build_id, first_line, line_count, text FROM build_logs
WHERE build_id = :build_id AND first_line + line_count > :since
ORDER BY first_line
LIMIT :limit;

-- fragment: cached
project_id, node, key, snapshot_id, size_bytes, created_at, used_at

-- name: build_cache_put
-- takes: cached_layer
INSERT INTO build_cache ({cached}) VALUES ({:cached})
ON CONFLICT (project_id, node, key) DO UPDATE
SET snapshot_id = excluded.snapshot_id, size_bytes = excluded.size_bytes,
	created_at = excluded.created_at, used_at = excluded.used_at;

-- name: build_cache_find
-- takes: cached_layer
-- gives: cached_layer
SELECT {cached} FROM build_cache
WHERE project_id = :project_id AND node = :node AND key = :key;

-- name: build_cache_touch
-- takes: cached_layer
UPDATE build_cache SET used_at = :used_at
WHERE project_id = :project_id AND node = :node AND key = :key;

-- name: build_cache_remove
-- takes: cached_layer
DELETE FROM build_cache WHERE snapshot_id = :snapshot_id;

-- The one that was not used for longest comes first.
-- name: build_cache_list
-- takes: build_cache_filter
-- gives: cached_layer
SELECT {cached} FROM build_cache
WHERE node = :node AND (:project_id IS NULL OR project_id = :project_id)
	AND (:template_id IS NULL OR snapshot_id IN (
		SELECT id FROM snapshots WHERE template_id = :template_id AND kind = 'layer'))
ORDER BY used_at, snapshot_id
LIMIT :limit;

-- Layers that neither the cache nor a template needs.
-- name: layer_unused
-- takes: layer_filter
-- gives: layer_ref
SELECT id FROM snapshots
WHERE kind = 'layer' AND node = :node AND state = 'ready' AND created_at < :before
	AND NOT EXISTS (SELECT 1 FROM build_cache WHERE snapshot_id = snapshots.id)
	AND NOT EXISTS (SELECT 1 FROM templates WHERE snapshot_id = snapshots.id)
LIMIT :limit;

-- name: layer_release
-- takes: record_lookup
UPDATE snapshots SET state = 'removing'
WHERE id = :id AND kind = 'layer'
	AND NOT EXISTS (SELECT 1 FROM build_cache WHERE snapshot_id = :id)
	AND NOT EXISTS (SELECT 1 FROM templates WHERE snapshot_id = :id);
