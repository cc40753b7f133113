-- fragment: key
id, project_id, name, prefix, hash, scopes, created_at, expires_at, revoked_at, last_used_at

-- name: key_insert
-- takes: key_record
INSERT INTO keys ({key})
VALUES (:id, :project_id, :name, :prefix, :hash, :scopes, :created_at, :expires_at, :revoked_at,
	:last_used_at)
ON CONFLICT DO NOTHING;

-- name: key_find_by_hash
-- takes: key_record
-- gives: key_record
SELECT {key} FROM keys WHERE hash = :hash;

-- name: key_list
-- takes: lookup
-- gives: key_record
SELECT {key} FROM keys WHERE project_id = :project_id ORDER BY created_at, id;

-- The first revocation is the one that counts.
-- name: key_revoke
-- takes: lookup
UPDATE keys SET revoked_at = CASE WHEN revoked_at = 0 THEN :now ELSE revoked_at END
WHERE id = :id AND project_id = :project_id;

-- name: key_touch
-- takes: touch
UPDATE keys SET last_used_at = :at WHERE id = :id AND last_used_at < :at;
