-- fragment: key
id, project_id, user_id, made_by, name, prefix, hash, scopes, created_at, expires_at, revoked_at,
last_used_at

-- A disabled user has no role: the keys may do nothing.
-- fragment: role_of_key
COALESCE((
	SELECT members.role FROM members
	WHERE members.project_id = keys.project_id AND members.user_id = keys.user_id
		AND NOT EXISTS (SELECT 1 FROM users
			WHERE users.email = keys.user_id AND users.disabled_at > 0)), '') AS role

-- name: key_insert
-- takes: key_record
INSERT INTO keys ({key}) VALUES ({:key})
ON CONFLICT DO NOTHING;

-- name: key_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM keys WHERE project_id = :project_id;

-- Of those that are useless since then nobody asks any more.
-- name: key_purge
-- takes: record_lookup
DELETE FROM keys WHERE project_id = :project_id
	AND ((revoked_at > 0 AND revoked_at < :now) OR (expires_at > 0 AND expires_at < :now));

-- name: key_find
-- takes: record_lookup
-- gives: key_record
SELECT {key}, {role_of_key} FROM keys
WHERE id = :id AND (:project_id IS NULL OR project_id = :project_id);

-- name: key_find_by_hash
-- takes: key_record
-- gives: key_record
SELECT {key}, {role_of_key} FROM keys WHERE hash = :hash;

-- A replaced secret is the same key, for a while.
-- name: key_find_by_old_hash
-- takes: key_record
-- gives: key_record
SELECT id, project_id, user_id, made_by, name, prefix, old_hash AS hash, scopes, created_at,
	CASE WHEN expires_at > 0 AND expires_at < valid_until THEN expires_at ELSE valid_until END
		AS expires_at,
	revoked_at, last_used_at, {role_of_key}
FROM key_secrets JOIN keys ON keys.id = key_secrets.key_id
WHERE old_hash = :hash;

-- name: key_list
-- takes: record_lookup
-- gives: key_record
SELECT {key}, {role_of_key} FROM keys WHERE project_id = :project_id ORDER BY created_at, id;

-- The first revocation is the one that counts.
-- name: key_revoke
-- takes: record_lookup
UPDATE keys SET revoked_at = CASE WHEN revoked_at = 0 THEN :now ELSE revoked_at END
WHERE id = :id AND project_id = :project_id;

-- name: key_revoke_of
-- takes: member_record
UPDATE keys SET revoked_at = :updated_at
WHERE project_id = :project_id AND user_id = :user_id AND revoked_at = 0;

-- name: key_revoke_all
-- takes: project_closing
UPDATE keys SET revoked_at = :now WHERE project_id = :id AND revoked_at = 0;

-- name: key_remove_all
-- takes: record_lookup
DELETE FROM keys WHERE project_id = :id;

-- Older secrets end no later than the one that is replaced now.
-- name: key_secrets_shorten
-- takes: key_rotation
UPDATE key_secrets SET valid_until = :until WHERE key_id = :id AND valid_until > :until;

-- name: key_secrets_purge
-- takes: key_rotation
DELETE FROM key_secrets WHERE key_id = :id AND valid_until <= :now;

-- name: key_secrets_count
-- takes: key_rotation
-- gives: row_count
SELECT count(*) AS count FROM key_secrets WHERE key_id = :id;

-- name: key_secret_retire
-- takes: key_rotation
INSERT INTO key_secrets (old_hash, key_id, valid_until)
SELECT hash, id, :until FROM keys WHERE id = :id AND project_id = :project_id;

-- name: key_renew
-- takes: key_rotation
UPDATE keys SET hash = :hash, prefix = :prefix WHERE id = :id AND project_id = :project_id;

-- name: key_touch
-- takes: touch
UPDATE keys SET last_used_at = :at WHERE id = :id AND last_used_at < :at;
