-- secret: key_pem of authorities by id
-- fragment: consent
id, project_id, sandbox_id, conversation_id, credential_id, credential_name, credential_version, hosts,
approval_id, decided_by, expires_at, revoked_at, created_at

-- name: consent_insert
-- takes: consent_record
INSERT INTO consents ({consent}) VALUES ({:consent});

-- name: consent_list
-- takes: consent_ref
-- gives: consent_record
SELECT {consent} FROM consents
WHERE project_id = :project_id AND (:sandbox_id IS NULL OR sandbox_id = :sandbox_id)
	AND (:conversation_id IS NULL OR conversation_id = :conversation_id)
	AND (:credential_name IS NULL OR credential_name = :credential_name)
ORDER BY created_at DESC, id DESC
LIMIT 1000;

-- name: consent_active
-- takes: record_lookup
-- gives: consent_record
SELECT {consent} FROM consents
WHERE sandbox_id = :id AND revoked_at = 0 AND (expires_at = 0 OR expires_at > :now)
ORDER BY created_at DESC, id DESC;

-- fragment: holding
project_id = :project_id AND revoked_at = 0 AND (expires_at = 0 OR expires_at > :now)
	AND (:sandbox_id IS NULL OR sandbox_id = :sandbox_id)
	AND (:conversation_id IS NULL OR conversation_id = :conversation_id)
	AND (:credential_name IS NULL OR credential_name = :credential_name)

-- name: consent_holding
-- takes: consent_ref
-- gives: consent_record
SELECT {consent} FROM consents WHERE {holding};

-- name: consent_revoke
-- takes: consent_ref
UPDATE consents SET revoked_at = :now WHERE {holding};

-- name: consent_expired
-- takes: record_lookup
-- gives: consent_record
SELECT {consent} FROM consents
WHERE is_told = 0 AND expires_at > 0 AND expires_at <= :now AND revoked_at = 0
LIMIT 100;

-- name: consent_tell
-- takes: record_lookup
UPDATE consents SET is_told = 1 WHERE id = :id AND is_told = 0;

-- name: consent_remove_all
-- takes: record_lookup
DELETE FROM consents WHERE project_id = :id;

-- name: consent_purge
-- takes: record_lookup
DELETE FROM consents
WHERE (revoked_at > 0 AND revoked_at < :now) OR (expires_at > 0 AND expires_at < :now);

-- name: authority_find
-- takes: record_lookup
-- gives: authority_record
SELECT id, certificate, key_pem, expires_at, created_at FROM authorities WHERE id = :id;

-- name: authority_put
-- takes: authority_record
INSERT INTO authorities (id, certificate, key_pem, expires_at, created_at)
VALUES (:id, :certificate, :key_pem, :expires_at, :created_at)
ON CONFLICT (id) DO UPDATE
SET certificate = excluded.certificate, key_pem = excluded.key_pem,
	expires_at = excluded.expires_at, created_at = excluded.created_at;

-- Of sandboxes that are deleted.
-- name: authority_purge
DELETE FROM authorities
WHERE NOT EXISTS (SELECT 1 FROM sandboxes
	WHERE sandboxes.id = authorities.id AND sandboxes.actual <> 'deleted');
