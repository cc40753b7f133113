-- name: peer_put
-- takes: peer_record
INSERT INTO peers (node, url, seen_at) VALUES (:node, :url, :seen_at)
ON CONFLICT (node) DO UPDATE SET url = excluded.url, seen_at = excluded.seen_at;

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
