-- A backup's size is that of its blob; all else is measured. Files of a sandbox are kept while it
-- rests, those of a persistent one always; an archived one's are in its backup.
-- fragment: kept
SELECT id, project_id, '' AS key_id, id AS sandbox_id, 'volume' AS reason,
	CAST(1 AS BIGINT) AS changes, created_at AS since, CAST(-1 AS BIGINT) AS size_bytes
FROM volumes WHERE node = :node AND state = 'ready' AND id > :after
UNION ALL
SELECT id, project_id, '', CASE sandbox_id WHEN '' THEN id ELSE sandbox_id END, 'snapshot',
	0, created_at, -1
FROM snapshots WHERE node = :node AND state = 'ready' AND kind = 'taken' AND id > :after
UNION ALL
SELECT id, project_id, '', CASE holder_id WHEN '' THEN id ELSE holder_id END, 'backup',
	0, created_at, size_bytes
FROM backups WHERE node = :node AND state = 'ready' AND id > :after
UNION ALL
SELECT id, project_id, key_id, id, 'storage', CASE actual WHEN 'started' THEN 1 ELSE 0 END,
	CASE persistent WHEN 0 THEN active_changed_at ELSE created_at END, -1
FROM sandboxes
WHERE node = :node AND disk_is_advisory <> 0 AND id > :after
	AND (actual IN ('stopped', 'paused') OR (actual = 'started' AND persistent <> 0))

-- name: holding_list
-- takes: holding_page
-- gives: holding_record
SELECT kept.id AS id, kept.project_id AS project_id, kept.key_id AS key_id,
	kept.sandbox_id AS sandbox_id, kept.reason AS reason, kept.changes AS changes,
	kept.since AS since,
	CASE WHEN kept.size_bytes >= 0 THEN kept.size_bytes
		ELSE COALESCE(holdings.bytes, 0) END AS bytes,
	COALESCE(holdings.measured_at, 0) AS measured_at,
	COALESCE(holdings.metered_at, 0) AS metered_at,
	COALESCE(holdings.unbilled_nano, 0) AS unbilled_nano
FROM ({kept}) AS kept
LEFT JOIN holdings ON holdings.id = kept.id
WHERE kept.since <= :before AND COALESCE(holdings.metered_at, 0) <= :before
	AND (:only IS NULL OR kept.id = :only)
ORDER BY kept.id
LIMIT :limit;

-- name: holding_put
-- takes: holding_mark
INSERT INTO holdings (id, bytes, measured_at, metered_at, unbilled_nano)
VALUES (:id, :bytes, :measured_at, :metered_at, :unbilled_nano)
ON CONFLICT (id) DO UPDATE
SET bytes = excluded.bytes, measured_at = excluded.measured_at, metered_at = excluded.metered_at,
	unbilled_nano = excluded.unbilled_nano
WHERE holdings.metered_at = :seen_metered_at;

-- What was elsewhere meanwhile begins anew.
-- name: holding_restart
-- takes: record_lookup
INSERT INTO holdings (id, bytes, measured_at, metered_at, unbilled_nano)
VALUES (:id, 0, 0, :now, 0)
ON CONFLICT (id) DO UPDATE SET metered_at = excluded.metered_at;

-- The size of what is about to be made, as it was measured before: until it is metered.
-- name: holding_expect
-- takes: holding_mark
INSERT INTO holdings (id, bytes, measured_at, metered_at, unbilled_nano)
VALUES (:id, :bytes, :measured_at, 0, 0)
ON CONFLICT (id) DO NOTHING;

-- name: holding_tidy
DELETE FROM holdings
WHERE NOT EXISTS (SELECT 1 FROM volumes WHERE volumes.id = holdings.id)
	AND NOT EXISTS (SELECT 1 FROM snapshots WHERE snapshots.id = holdings.id)
	AND NOT EXISTS (SELECT 1 FROM backups WHERE backups.id = holdings.id)
	AND NOT EXISTS (SELECT 1 FROM sandboxes WHERE sandboxes.id = holdings.id);
