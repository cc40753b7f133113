-- Figures that lists show beside the objects of a project; objects without one are left out.

-- As last measured.
-- name: figure_volume_bytes
-- takes: record_lookup
-- gives: figure_record
SELECT volumes.id AS id, holdings.bytes AS value
FROM volumes JOIN holdings ON holdings.id = volumes.id
WHERE volumes.project_id = :project_id AND holdings.measured_at > 0
ORDER BY volumes.id;

-- name: figure_snapshot_bytes
-- takes: record_lookup
-- gives: figure_record
SELECT snapshots.id AS id, holdings.bytes AS value
FROM snapshots JOIN holdings ON holdings.id = snapshots.id
WHERE snapshots.project_id = :project_id AND holdings.measured_at > 0
ORDER BY snapshots.id;

-- name: figure_snapshot_sandboxes
-- takes: record_lookup
-- gives: figure_record
SELECT snapshot_bases.origin_id AS id, count(*) AS value
FROM sandboxes JOIN snapshot_bases ON snapshot_bases.sandbox_id = sandboxes.id
WHERE sandboxes.project_id = :project_id AND sandboxes.actual NOT IN ('deleted', 'failed')
	AND snapshot_bases.origin_id <> ''
GROUP BY snapshot_bases.origin_id
ORDER BY snapshot_bases.origin_id;

-- name: figure_template_sandboxes
-- takes: record_lookup
-- gives: figure_record
SELECT template_id AS id, count(*) AS value
FROM sandboxes
WHERE project_id = :project_id AND actual NOT IN ('deleted', 'failed')
GROUP BY template_id
ORDER BY template_id;
