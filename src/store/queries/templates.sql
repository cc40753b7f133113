-- secret: env_json of templates by id
-- fragment: template
id, project_id, name, folder, base_image, runtime, isolation, description, cpu, memory_mb, disk_mb,
pids, env_json, entrypoint_json, ports_json, "user", workdir, state, state_text, size_bytes,
created_at, updated_at, node, pool_min, pool_target, pool_max, warm_json, snapshot_id, ready,
is_public, is_pulled, used_at, failure, provider, {inherited_timeouts}

-- name: template_insert
-- takes: template_record
INSERT INTO templates ({template})
VALUES (:id, :project_id, :name, :folder, :base_image, :runtime, :isolation, :description, :cpu,
	:memory_mb, :disk_mb, :pids, COALESCE(NULLIF(:env_json, ''), '{}'),
	COALESCE(NULLIF(:entrypoint_json, ''), '[]'), COALESCE(NULLIF(:ports_json, ''), '[]'),
	:user, :workdir, :state, :state_text, :size_bytes, :created_at, :updated_at, :node, :pool_min,
	:pool_target, :pool_max, COALESCE(NULLIF(:warm_json, ''), '[]'), :snapshot_id, :ready,
	:is_public, :is_pulled, :used_at, COALESCE(:failure, ''), :provider, {:inherited_timeouts})
ON CONFLICT DO NOTHING;

-- Sandboxes of a template that is no longer public still start.
-- name: template_find
-- takes: record_lookup
-- gives: template_record
SELECT {template} FROM templates
WHERE (name = :id OR id = :id)
	AND (project_id = '' OR :project_id IS NULL OR project_id = :project_id
		OR (id = :id AND (is_public > 0
			OR EXISTS (SELECT 1 FROM sandboxes AS made WHERE made.template_id = :id
				AND made.project_id = :project_id AND made.actual <> 'deleted')
			OR EXISTS (SELECT 1 FROM snapshots AS kept WHERE kept.template_id = :id
				AND kept.project_id = :project_id))))
ORDER BY CASE WHEN project_id = '' THEN 1
		WHEN :project_id IS NULL OR project_id = :project_id THEN 0 ELSE 2 END,
	CASE WHEN id = :id THEN 0 ELSE 1 END
LIMIT 1;

-- Projects do not see failed pulls: the next create of the image tries again.
-- name: template_list
-- takes: record_lookup
-- gives: template_record
SELECT {template} FROM templates
WHERE :project_id IS NULL
	OR ((project_id = '' OR project_id = :project_id) AND (is_pulled = 0 OR state <> 'failed'))
ORDER BY name, project_id;

-- name: template_move
-- takes: template_move
UPDATE templates
SET state = :to, state_text = :state_text, updated_at = :now, node = COALESCE(:node, node),
	size_bytes = CASE WHEN :size_bytes > 0 THEN :size_bytes ELSE size_bytes END,
	failure = COALESCE(:failure, '')
WHERE id = :id AND state = :from;

-- name: template_step_aside
-- takes: template_succession
UPDATE templates SET name = id WHERE project_id = :project_id AND name = :name;

-- name: template_succeed
-- takes: template_succession
UPDATE templates SET name = :name, updated_at = :now WHERE id = :id AND project_id = :project_id;

-- name: template_touch
-- takes: template_use
UPDATE templates SET used_at = :now WHERE id = :id AND used_at < :before;

-- Pulled ones that have sandboxes.
-- name: template_touch_pulled
-- takes: template_use
UPDATE templates SET used_at = :now
WHERE is_pulled > 0 AND used_at < :before
	AND EXISTS (SELECT 1 FROM sandboxes WHERE template_id = templates.id AND actual <> 'deleted');

-- Those that no sandbox, snapshot or build has below it, the least recently used first.
-- name: template_pulled_list
-- takes: pulled_filter
-- gives: template_record
SELECT {template} FROM templates AS pulled
WHERE is_pulled > 0 AND node = :node
	AND NOT EXISTS (SELECT 1 FROM sandboxes WHERE template_id = pulled.id AND actual <> 'deleted'
		AND (pulled.state <> 'failed' OR actual <> 'failed'))
	AND NOT EXISTS (SELECT 1 FROM snapshots WHERE template_id = pulled.id)
ORDER BY used_at, id
LIMIT :limit;

-- name: template_update
-- takes: template_record
UPDATE templates
SET description = :description, base_image = :base_image, runtime = :runtime,
	isolation = :isolation, provider = :provider, cpu = :cpu, memory_mb = :memory_mb, disk_mb = :disk_mb, pids = :pids,
	env_json = COALESCE(NULLIF(:env_json, ''), '{}'),
	entrypoint_json = COALESCE(NULLIF(:entrypoint_json, ''), '[]'),
	ports_json = COALESCE(NULLIF(:ports_json, ''), '[]'), "user" = :user, workdir = :workdir,
	size_bytes = :size_bytes, updated_at = :updated_at, pool_min = :pool_min,
	pool_target = :pool_target, pool_max = :pool_max,
	warm_json = COALESCE(NULLIF(:warm_json, ''), '[]'), snapshot_id = :snapshot_id,
	ready = :ready, node = :node, is_public = :is_public, is_pulled = :is_pulled,
	{=inherited_timeouts}
WHERE id = :id;

-- name: template_state
-- takes: record_lookup
-- gives: template_seen
SELECT state FROM templates WHERE id = :id;

-- name: template_shares
-- takes: record_lookup
-- gives: template_seen
SELECT state FROM templates WHERE folder = :id LIMIT 1;

-- A sandbox that waited for a failed pull has failed, too, and has no files.
-- name: template_remove
-- takes: record_lookup
DELETE FROM templates
WHERE id = :id AND project_id = :project_id AND NOT EXISTS (
	SELECT 1 FROM sandboxes WHERE template_id = :id AND actual <> 'deleted'
	AND (templates.is_pulled = 0 OR templates.state <> 'failed' OR actual <> 'failed'))
	AND NOT EXISTS (SELECT 1 FROM snapshots WHERE template_id = :id);

-- name: template_owned
-- takes: record_lookup
-- gives: template_seen
SELECT state FROM templates WHERE id = :id AND project_id = :project_id;
