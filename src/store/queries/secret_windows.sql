-- fragment: secret_window
w.sandbox_id, w.name, w.consent_id, w.conversation_id, w.key_id, w.created_at,
(SELECT count(*) FROM consents c
	JOIN credentials r ON r.id = c.credential_id AND r.version = c.credential_version AND r.hosts = c.hosts
	WHERE c.id = w.consent_id AND c.revoked_at = 0 AND (c.expires_at = 0 OR c.expires_at > :now)
		AND (r.expires_at = 0 OR r.expires_at > :now) AND r.needs_login = 0) AS holding

-- name: secret_window_insert
-- takes: secret_window
INSERT INTO secret_windows (sandbox_id, name, consent_id, conversation_id, key_id, created_at)
VALUES (:sandbox_id, :name, :consent_id, :conversation_id, :key_id, :created_at)
ON CONFLICT (sandbox_id, name, consent_id) DO UPDATE
SET conversation_id = excluded.conversation_id, key_id = excluded.key_id, created_at = excluded.created_at;

-- name: secret_window_list
-- takes: record_lookup
-- gives: secret_window
SELECT {secret_window} FROM secret_windows w
WHERE w.sandbox_id = :id
ORDER BY w.name, w.consent_id;

-- name: secret_window_list_of_node
-- takes: record_lookup
-- gives: secret_window
SELECT {secret_window} FROM secret_windows w JOIN sandboxes s ON s.id = w.sandbox_id
WHERE s.node = :id AND s.actual IN ('started', 'stopped', 'failed')
ORDER BY w.sandbox_id, w.name, w.consent_id;

-- name: secret_window_remove
-- takes: secret_window
DELETE FROM secret_windows WHERE sandbox_id = :sandbox_id AND name = :name AND created_at <= :created_at;

-- Of sandboxes that are deleted.
-- name: secret_window_purge
DELETE FROM secret_windows
WHERE NOT EXISTS (SELECT 1 FROM sandboxes
	WHERE sandboxes.id = secret_windows.sandbox_id AND sandboxes.actual <> 'deleted');
