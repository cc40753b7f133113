-- fragment: session
project_id, tenant_id, session_id, sandbox_id, created_at, last_used_at

-- name: session_count
-- takes: lookup
-- gives: tally
SELECT count(*) AS count FROM sessions WHERE project_id = :project_id;

-- name: session_insert
-- takes: session_record
INSERT INTO sessions ({session})
VALUES (:project_id, :tenant_id, :session_id, :sandbox_id, :created_at, :last_used_at)
ON CONFLICT DO NOTHING;

-- name: session_find
-- takes: session_record
-- gives: session_record
SELECT {session} FROM sessions
WHERE project_id = :project_id AND tenant_id = :tenant_id AND session_id = :session_id;

-- The id is the sandbox's, which is one session's.
-- name: session_touch
-- takes: touch
UPDATE sessions SET last_used_at = :at WHERE sandbox_id = :id AND last_used_at < :at;

-- name: session_remove
-- takes: session_record
DELETE FROM sessions
WHERE project_id = :project_id AND tenant_id = :tenant_id AND session_id = :session_id;

-- name: session_remove_of
-- takes: lookup
DELETE FROM sessions WHERE sandbox_id = :id;

-- name: session_list
-- takes: lookup
-- gives: session_record
SELECT {session} FROM sessions WHERE project_id = :project_id ORDER BY created_at, tenant_id,
	session_id;
