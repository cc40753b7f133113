-- secret: env_json of sandboxes by id
-- fragment: sandbox
id, project_id, name, template_id, template_name, provider, region, labels_json, env_json, desired,
actual, reason, cpu, memory_mb, disk_mb, pids, disk_is_advisory, persistent, privileges, network,
{timeouts}, timeout_at, awake_until, created_at, started_at, stopped_at, last_activity_at,
last_event_at, last_event, node, version, key_id, user_id, active_changed_at, active_ms, preview_off, preview_public, preview_generation,
traits, network_json, egress, placed, rules_json, egress_cut

-- name: sandbox_tally
-- gives: sandbox_tally
SELECT actual, count(*) AS count FROM sandboxes GROUP BY actual;

-- name: sandbox_tally_providers
-- takes: record_lookup
-- gives: provider_tally
SELECT provider, count(*) AS count FROM sandboxes
WHERE node = :id AND actual NOT IN ('deleted', 'failed')
GROUP BY provider;

-- name: sandbox_insert
-- takes: sandbox_record
INSERT INTO sandboxes ({sandbox})
VALUES (:id, :project_id, :name, :template_id, :template_name, :provider, :region,
	COALESCE(NULLIF(:labels_json, ''), '{}'), COALESCE(NULLIF(:env_json, ''), '{}'), :desired,
	:actual, :reason, :cpu, :memory_mb, :disk_mb, :pids, :disk_is_advisory, :persistent,
	:privileges, :network, {:timeouts}, :timeout_at, :awake_until, :created_at, :started_at,
	:stopped_at, :last_activity_at, :last_event_at, :last_event, :node, 1, :key_id,
	COALESCE(NULLIF(:user_id, ''), (SELECT keys.user_id FROM keys WHERE keys.id = :key_id), ''),
	CASE WHEN :actual = 'started' THEN :created_at ELSE 0 END, 0, :preview_off,
	:preview_public, :preview_generation, :traits, :network_json, :egress, :placed, :rules_json,
	'')
ON CONFLICT DO NOTHING;

-- name: sandbox_keep_files
-- takes: record_lookup
UPDATE sandboxes SET archive_after_ms = 0, version = version + 1 WHERE id = :id;

-- name: sandbox_find_by_id
-- takes: record_lookup
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE id = :id AND actual <> 'deleted' AND (:project_id IS NULL OR project_id = :project_id);

-- While its row is there, deleted or not.
-- name: sandbox_find_ended
-- takes: record_lookup
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE id = :id AND (:project_id IS NULL OR project_id = :project_id);

-- Of those whose ids are the names of members of the object :id; deleted ones, too.
-- name: sandbox_list_owners
-- takes: record_lookup
-- gives: sandbox_owner
SELECT id, name, project_id FROM sandboxes
WHERE id IN (SELECT item.key FROM json_each(:id) AS item)
	AND (:project_id IS NULL OR project_id = :project_id);

-- Oldest first. The snapshot of a fork has no name of its own.
-- name: sandbox_list_forks
-- takes: fork_search
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE project_id = :project_id AND (:with_deleted > 0 OR actual <> 'deleted')
	AND id IN (SELECT b.sandbox_id FROM snapshot_bases b JOIN snapshots n ON n.id = b.origin_id
		WHERE n.sandbox_id = :sandbox_id AND n.name = n.id)
ORDER BY created_at, id
LIMIT :limit;

-- Oldest first; :sandbox_id is a snapshot.
-- name: sandbox_list_made_from
-- takes: fork_search
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE project_id = :project_id AND actual <> 'deleted'
	AND id IN (SELECT sandbox_id FROM snapshot_bases WHERE origin_id = :sandbox_id)
ORDER BY created_at, id
LIMIT :limit;

-- Names of failed and going ones may be used again: the living one comes first.
-- name: sandbox_find_by_name
-- takes: record_lookup
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE project_id = :project_id AND name = :id AND actual <> 'deleted'
ORDER BY CASE WHEN actual IN ('deleting', 'failed') THEN 1 ELSE 0 END, created_at DESC, id DESC
LIMIT 1;

-- name: sandbox_projects_with_name
-- takes: record_lookup
-- gives: project_ref
SELECT DISTINCT project_id AS id FROM sandboxes
WHERE name = :id AND actual <> 'deleted'
ORDER BY id
LIMIT 5;

-- fragment: sandbox_filters
((:states IS NULL AND actual <> 'deleted')
		OR actual IN (SELECT wanted.key FROM json_each(:states) AS wanted))
	AND (:name IS NULL OR name = :name)
	AND (:node IS NULL OR node = :node)
	AND (:region IS NULL OR region = :region)
	AND (:providers IS NULL
		OR provider IN (SELECT wanted.key FROM json_each(:providers) AS wanted))
	AND (:created_by IS NULL OR key_id = :created_by OR user_id = :created_by)
	AND (traits & :hidden_traits) = 0
	AND (:template IS NULL OR template_name = :template OR template_id = :template)
	AND (:label_key IS NULL OR EXISTS (
		SELECT 1 FROM json_each(labels_json) AS label
		WHERE label.key = :label_key
			AND (:label_value IS NULL OR label.value = :label_value)))
	AND (:labels_json IS NULL OR NOT EXISTS (
		SELECT 1 FROM json_each(:labels_json) AS wanted
		WHERE NOT EXISTS (
			SELECT 1 FROM json_each(labels_json) AS label
			WHERE label.key = wanted.key AND label.value = wanted.value)))
	AND (:search IS NULL OR instr(lower(name), lower(:search)) > 0
		OR instr(id, lower(:search)) > 0
		OR EXISTS (
			SELECT 1 FROM json_each(labels_json) AS label
			WHERE instr(lower(label.key || '=' || label.value), lower(:search)) > 0))

-- fragment: sandbox_selection
SELECT {sandbox} FROM sandboxes WHERE project_id = :project_id AND {sandbox_filters}

-- name: sandbox_list
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: sandbox_list_oldest
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (created_at, id) > (:page_at, :page_id)
ORDER BY created_at, id LIMIT :limit;

-- name: sandbox_list_active
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (last_activity_at, id) < (:page_at, :page_id)
ORDER BY last_activity_at DESC, id DESC LIMIT :limit;

-- name: sandbox_list_inactive
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (last_activity_at, id) > (:page_at, :page_id)
ORDER BY last_activity_at, id LIMIT :limit;

-- name: sandbox_list_names
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (name, id) > (:page_text, :page_id)
ORDER BY name, id LIMIT :limit;

-- name: sandbox_list_names_down
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (:page_text = '' OR (name, id) < (:page_text, :page_id))
ORDER BY name DESC, id DESC LIMIT :limit;

-- name: sandbox_list_states
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (actual, id) > (:page_text, :page_id)
ORDER BY actual, id LIMIT :limit;

-- name: sandbox_list_states_down
-- takes: sandbox_page
-- gives: sandbox_record
{sandbox_selection} AND (:page_text = '' OR (actual, id) < (:page_text, :page_id))
ORDER BY actual DESC, id DESC LIMIT :limit;

-- name: sandbox_total
-- takes: sandbox_page
-- gives: row_count
SELECT count(*) AS count FROM sandboxes WHERE project_id = :project_id AND {sandbox_filters};

-- name: sandbox_list_all
-- takes: sandbox_page
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE (created_at, id) < (:page_at, :page_id) AND {sandbox_filters}
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- A reason stays until there is another one, or a new start. Active time is that in 'started': a
-- stretch is added when it ends; of one that went down with the host, as much as is metered, since
-- nobody knows for how much longer it ran. Files that come back from an archive cost from then on.
-- name: sandbox_move
-- takes: sandbox_transition
-- gives: sandbox_record
UPDATE sandboxes
SET actual = :to, desired = COALESCE(:desired, desired),
	reason = CASE WHEN :reason <> 'none' OR :to = 'started' THEN :reason ELSE reason END,
	started_at = CASE WHEN :to = 'started' AND :from <> 'paused' THEN :now
		ELSE started_at END,
	last_activity_at = CASE WHEN :to = 'started' THEN :now ELSE last_activity_at END,
	stopped_at = CASE WHEN :to IN ('stopped', 'failed', 'deleted') THEN :now
		ELSE stopped_at END,
	active_ms = CASE
		WHEN actual <> 'started' OR :to = 'started' THEN active_ms
		WHEN :reason = 'host_lost' AND metered_ms > active_ms THEN metered_ms
		WHEN :reason = 'host_lost' OR :now < active_changed_at THEN active_ms
		ELSE active_ms + :now - active_changed_at END,
	active_changed_at = CASE WHEN (actual = 'started') <> (:to = 'started') THEN :now
		ELSE active_changed_at END,
	stored_at = CASE WHEN :from = 'archived' THEN :now ELSE stored_at END,
	egress_seen = CASE WHEN :to = 'creating' THEN 0 ELSE egress_seen END,
	egress_cut = CASE WHEN :to IN ('creating', 'stopped') THEN '' ELSE egress_cut END,
	cpu = CASE WHEN :is_measured <> 0 THEN :cpu ELSE cpu END,
	memory_mb = CASE WHEN :is_measured <> 0 THEN :memory_mb ELSE memory_mb END,
	disk_mb = CASE WHEN :is_measured <> 0 THEN :disk_mb ELSE disk_mb END,
	pids = CASE WHEN :is_measured <> 0 THEN :pids ELSE pids END,
	disk_is_advisory = CASE WHEN :is_measured <> 0 THEN :disk_is_advisory
		ELSE disk_is_advisory END,
	traits = (traits & :traits_left) | :traits_gained,
	last_event = :event, last_event_at = :now, version = version + 1
WHERE id = :id AND actual = :from
RETURNING {sandbox};

-- name: sandbox_want
-- takes: sandbox_transition
UPDATE sandboxes SET desired = :desired, version = version + 1
WHERE id = :id AND actual = :from;

-- name: sandbox_state
-- takes: record_lookup
-- gives: sandbox_seen
SELECT actual FROM sandboxes WHERE id = :id;

-- No new version: nothing but the reaper looks at it, and it changes with every call.
-- name: sandbox_touch
-- takes: touch
UPDATE sandboxes SET last_activity_at = :at WHERE id = :id AND last_activity_at < :at;

-- name: sandbox_set_timeout
-- takes: touch
-- gives: sandbox_record
UPDATE sandboxes SET timeout_at = :at, version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- name: sandbox_adopt
-- takes: record_lookup
UPDATE sandboxes SET node = :id WHERE node = '';

-- Rows of a server that is gone become another server's.
-- name: sandbox_take_over
-- takes: sandbox_takeover
UPDATE sandboxes SET node = :node, version = version + 1
WHERE node = :from
	AND (actual IN ('started', 'paused', 'stopped', 'archived', 'failed')
		OR (:with_unfinished > 0 AND actual <> 'deleted'))
	AND provider IN (SELECT wanted.key FROM json_each(:providers) AS wanted);

-- Its own time, when it has one, is not over before.
-- name: sandbox_keep
-- takes: touch
-- gives: sandbox_record
UPDATE sandboxes
SET awake_until = :at,
	timeout_at = CASE WHEN timeout_at > 0 AND timeout_at < :at THEN :at ELSE timeout_at END,
	version = version + 1
WHERE id = :id AND actual NOT IN ('deleting', 'deleted', 'failed')
RETURNING {sandbox};

-- name: sandbox_set_preview
-- takes: sandbox_preview
-- gives: sandbox_record
UPDATE sandboxes
SET preview_off = :off, preview_public = :is_public, preview_generation = :generation,
	version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- name: sandbox_set_egress
-- takes: sandbox_egress_change
-- gives: sandbox_record
UPDATE sandboxes SET egress = :egress, rules_json = :rules_json, version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- name: sandbox_set_egress_cut
-- takes: sandbox_egress_cut
-- gives: sandbox_record
UPDATE sandboxes SET egress_cut = :cut, version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- name: sandbox_list_with_rules
-- takes: record_lookup
-- gives: sandbox_record
SELECT {sandbox} FROM sandboxes
WHERE node = :id AND rules_json <> '' AND actual NOT IN ('deleted', 'failed')
ORDER BY id;

-- name: sandbox_set_provider
-- takes: sandbox_provider_change
-- gives: sandbox_record
UPDATE sandboxes SET provider = :provider, placed = :placed, version = version + 1
WHERE id = :id AND actual = 'creating'
RETURNING {sandbox};

-- name: sandbox_set
-- takes: sandbox_settings
-- gives: sandbox_record
UPDATE sandboxes
SET name = COALESCE(:name, name), labels_json = COALESCE(NULLIF(:labels_json, ''), '{}'),
	persistent = :persistent, timeout_at = :timeout_at, {=timeouts}, version = version + 1
WHERE id = :id AND actual <> 'deleted' AND (:version = 0 OR version = :version)
	AND (:name IS NULL OR name = :name OR NOT EXISTS (
		SELECT 1 FROM sandboxes AS other
		WHERE other.project_id = sandboxes.project_id AND other.name = :name
			AND other.actual NOT IN ('deleting', 'deleted', 'failed')))
RETURNING {sandbox};

-- name: sandbox_set_resources
-- takes: sandbox_revision
-- gives: sandbox_record
UPDATE sandboxes
SET cpu = :cpu, memory_mb = :memory_mb, disk_mb = :disk_mb, pids = :pids, version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- name: sandbox_set_env
-- takes: sandbox_revision
-- gives: sandbox_record
UPDATE sandboxes
SET env_json = :env_json, version = version + 1
WHERE id = :id AND actual <> 'deleted'
RETURNING {sandbox};

-- What is not metered yet is still needed.
-- name: sandbox_purge
-- takes: record_lookup
DELETE FROM sandboxes
WHERE actual = 'deleted' AND last_event_at < :now AND active_ms <= metered_ms;
