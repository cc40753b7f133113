-- fragment: relation_snapshot
COALESCE(snapshots.name, '') AS name, COALESCE(snapshots.sandbox_id, '') AS sandbox_id,
COALESCE(snapshots.sandbox_name, '') AS sandbox_name, '' AS path, '' AS state,
0 AS is_read_only

-- fragment: relation_volume
SELECT mounts.sandbox_id AS of_id, 'volume' AS kind, volumes.id AS id, volumes.name AS name,
	'' AS sandbox_id, '' AS sandbox_name, mounts.path AS path, '' AS state,
	mounts.is_read_only AS is_read_only, 0 AS step
FROM sandboxes
JOIN mounts ON mounts.sandbox_id = sandboxes.id
JOIN volumes ON volumes.id = mounts.volume_id
WHERE sandboxes.actual NOT IN ('deleted', 'failed') AND mounts.state <> 'attaching'

-- What was brought names whatever snapshot its maker liked.
-- fragment: relation_backup
SELECT backups.snapshot_id AS of_id, 'backup' AS kind, backups.id AS id, backups.name AS name,
	'' AS sandbox_id, '' AS sandbox_name, '' AS path, backups.state AS state,
	0 AS is_read_only, 0 AS step
FROM snapshots
JOIN backups ON backups.snapshot_id = snapshots.id AND backups.project_id = snapshots.project_id
WHERE backups.holder_id = '' AND backups.is_brought = 0 AND backups.state IN ('making', 'ready')

-- An id is a sandbox's or a snapshot's. Layers of a template are no snapshots that anybody knows,
-- and lie lowest.
-- name: relation_list
-- takes: relation_search
-- gives: relation_record
WITH RECURSIVE below (of_id, id, step) AS (
	SELECT sandbox_id, snapshot_id, 1 FROM snapshot_bases
	WHERE sandbox_id = :id AND snapshot_id <> ''
	UNION ALL
	SELECT id, parent_id, 1 FROM snapshots WHERE id = :id AND parent_id <> ''
	UNION ALL
	SELECT below.of_id, snapshots.parent_id, below.step + 1
	FROM below JOIN snapshots ON snapshots.id = below.id
	WHERE snapshots.parent_id <> '' AND below.step < :below_max
)
SELECT below.of_id AS of_id, 'below' AS kind, below.id AS id, {relation_snapshot},
	below.step AS step
FROM below LEFT JOIN snapshots ON snapshots.id = below.id
WHERE COALESCE(snapshots.kind, '') <> 'layer'
UNION ALL
SELECT snapshot_bases.sandbox_id AS of_id, 'origin' AS kind, snapshot_bases.origin_id AS id,
	{relation_snapshot}, 0 AS step
FROM snapshot_bases LEFT JOIN snapshots ON snapshots.id = snapshot_bases.origin_id
WHERE snapshot_bases.sandbox_id = :id AND snapshot_bases.origin_id <> ''
	AND COALESCE(snapshots.kind, '') <> 'layer'
UNION ALL
{relation_volume} AND sandboxes.id = :id
UNION ALL
{relation_backup} AND snapshots.id = :id
ORDER BY of_id, kind, step, path;

-- name: relation_list_of_page
-- takes: relation_page
-- gives: relation_record
SELECT snapshot_bases.sandbox_id AS of_id, 'origin' AS kind, snapshot_bases.origin_id AS id,
	{relation_snapshot}, 0 AS step
FROM sandboxes
JOIN snapshot_bases ON snapshot_bases.sandbox_id = sandboxes.id
LEFT JOIN snapshots ON snapshots.id = snapshot_bases.origin_id
WHERE sandboxes.project_id = :project_id
	AND sandboxes.id IN (SELECT wanted.key FROM json_each(:ids) AS wanted)
	AND snapshot_bases.origin_id <> '' AND COALESCE(snapshots.kind, '') <> 'layer'
UNION ALL
{relation_volume} AND sandboxes.project_id = :project_id
	AND sandboxes.id IN (SELECT wanted.key FROM json_each(:ids) AS wanted)
ORDER BY of_id, kind, step, path;

-- name: relation_list_of_snapshots
-- takes: relation_page
-- gives: relation_record
{relation_backup} AND snapshots.project_id = :project_id
	AND snapshots.created_at BETWEEN :from AND :to
ORDER BY of_id, kind, step, id;
