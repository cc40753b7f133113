-- name: peer_put
-- takes: peer_record
INSERT INTO peers (node, url, seen_at) VALUES (:node, :url, :seen_at)
ON CONFLICT (node) DO UPDATE SET url = excluded.url, seen_at = excluded.seen_at;

-- Another server could not reach it. Not when it has said since that it lives.
-- name: peer_end
-- takes: peer_record
UPDATE peers SET seen_at = 0 WHERE node = :node AND seen_at = :seen_at AND seen_at > 0;

-- Servers that have ended and have nothing.
-- name: peer_purge
-- takes: record_lookup
DELETE FROM peers
WHERE seen_at < :now
	AND NOT EXISTS (SELECT 1 FROM sandboxes
		WHERE sandboxes.node = peers.node AND sandboxes.actual <> 'deleted')
	AND NOT EXISTS (SELECT 1 FROM snapshots WHERE snapshots.node = peers.node)
	AND NOT EXISTS (SELECT 1 FROM volumes WHERE volumes.node = peers.node)
	AND NOT EXISTS (SELECT 1 FROM backups WHERE backups.node = peers.node);

-- name: peer_remove
-- takes: record_lookup
DELETE FROM peers WHERE node = :id;

-- name: peer_find
-- takes: record_lookup
-- gives: peer_record
SELECT node, url, seen_at FROM peers WHERE node = :id;

-- name: peer_list
-- gives: peer_record
SELECT node, url, seen_at FROM peers ORDER BY node LIMIT 1000;
