-- secret: secret of server_keys by id
-- Whoever is first has made it.
-- name: server_key_insert
-- takes: server_key
INSERT INTO server_keys (id, secret) VALUES (:id, :secret)
ON CONFLICT DO NOTHING;

-- name: server_key_find
-- takes: record_lookup
-- gives: server_key
SELECT id, secret FROM server_keys WHERE id = :id;
