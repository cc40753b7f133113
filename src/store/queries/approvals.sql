-- fragment: approval
id, project_id, key_id, conversation_id, origin_json, sandbox_id, tool, input, hash, state, note, decided_by,
created_at, decided_at, expires_at

-- A session of a user stands where a key does.
-- fragment: approval_named
{approval}, COALESCE((SELECT keys.name FROM keys WHERE keys.id = approvals.key_id),
	(SELECT users.name FROM users WHERE users.id = approvals.key_id), '') AS key_name,
COALESCE((SELECT keys.name FROM keys WHERE keys.id = approvals.decided_by),
	(SELECT users.name FROM users WHERE users.id = approvals.decided_by), '') AS decided_by_name

-- name: approval_insert
-- takes: approval_record
INSERT INTO approvals ({approval}) VALUES ({:approval});

-- name: approval_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM approvals
WHERE project_id = :project_id AND state = 'pending' AND expires_at > :now;

-- name: approval_count_of_sandbox
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM approvals
WHERE sandbox_id = :id AND tool = 'request_access' AND state = 'pending' AND expires_at > :now;

-- A request for the same host, whatever its reason.
-- name: approval_access
-- takes: access_search
-- gives: approval_record
SELECT {approval_named} FROM approvals
WHERE sandbox_id = :sandbox_id AND tool = 'request_access'
	AND substr(input, 1, length(:prefix)) = :prefix
	AND state IN ('pending', 'approved', 'refused') AND expires_at > :now
ORDER BY created_at DESC, id DESC
LIMIT 1;

-- name: approval_find
-- takes: record_lookup
-- gives: approval_record
SELECT {approval_named} FROM approvals WHERE project_id = :project_id AND id = :id;

-- name: approval_match
-- takes: approval_record
-- gives: approval_record
SELECT {approval_named} FROM approvals
WHERE project_id = :project_id AND key_id = :key_id AND hash = :hash
	AND state IN ('pending', 'approved') AND expires_at > :created_at
ORDER BY created_at DESC, id DESC
LIMIT 1;

-- name: approval_list
-- takes: approval_page
-- gives: approval_record
SELECT {approval_named} FROM approvals
WHERE project_id = :project_id AND (:state IS NULL OR state = :state) AND expires_at > :now
	AND (:sandbox_id IS NULL OR sandbox_id = :sandbox_id) AND (:tool IS NULL OR tool = :tool)
	AND (created_at, id) < (:page_at, :page_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- name: approval_decide
-- takes: approval_decision
UPDATE approvals
SET state = :to, note = :note, decided_by = :decided_by, decided_at = :now,
	expires_at = :expires_at
WHERE project_id = :project_id AND id = :id AND state = :from AND expires_at > :now;

-- name: approval_overdue
-- takes: record_lookup
-- gives: approval_record
SELECT {approval_named} FROM approvals WHERE state = 'pending' AND expires_at <= :now
ORDER BY expires_at, id LIMIT 100;

-- name: approval_expire
-- takes: record_lookup
UPDATE approvals SET state = 'expired' WHERE id = :id AND state = 'pending' AND expires_at <= :now;

-- name: approval_purge
-- takes: record_lookup
DELETE FROM approvals WHERE expires_at < :now;
