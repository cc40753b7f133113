-- secret: secret_json of connects by id
-- fragment: connect
id, project_id, owner_id, name, preset, method, state, problem, scopes, request_json, service_json,
secret_json, state_hash, credential_id, revision, due_at, interval_ms, claimed_until, expires_at,
created_at, updated_at

-- name: connect_insert
-- takes: connect_record
INSERT INTO connects ({connect}) VALUES ({:connect});

-- name: connect_count
-- takes: connect_ref
-- gives: row_count
SELECT count(*) AS count FROM connects WHERE project_id = :project_id AND owner_id = :owner_id;

-- name: connect_find
-- takes: connect_ref
-- gives: connect_record
SELECT {connect} FROM connects
WHERE project_id = :project_id AND owner_id IN ('', :owner_id) AND id = :id;

-- name: connect_find_by_state
-- takes: record_lookup
-- gives: connect_record
SELECT {connect} FROM connects WHERE state_hash = :id AND state_hash <> '';

-- name: connect_find_by_id
-- takes: record_lookup
-- gives: connect_record
SELECT {connect} FROM connects WHERE id = :id;

-- name: connect_list
-- takes: connect_ref
-- gives: connect_record
SELECT {connect} FROM connects
WHERE project_id = :project_id AND owner_id IN ('', :owner_id)
ORDER BY created_at DESC, id DESC;

-- name: connect_due
-- takes: record_lookup
-- gives: connect_record
SELECT {connect} FROM connects
WHERE due_at > 0 AND due_at <= :now AND claimed_until <= :now
ORDER BY due_at, id
LIMIT 20;

-- name: connect_update
-- takes: connect_record
UPDATE connects
SET state = :state, problem = :problem, scopes = :scopes, secret_json = :secret_json,
	state_hash = :state_hash, credential_id = :credential_id, revision = revision + 1,
	due_at = :due_at, interval_ms = :interval_ms, claimed_until = :claimed_until,
	updated_at = :updated_at
WHERE id = :id AND revision = :revision;

-- name: connect_remove
-- takes: connect_record
DELETE FROM connects WHERE id = :id AND project_id = :project_id;

-- A new login replaces the ones before it.
-- name: connect_remove_others
-- takes: connect_record
DELETE FROM connects
WHERE credential_id = :credential_id AND credential_id <> '' AND id <> :id
	AND project_id = :project_id;

-- name: connect_remove_of_credential
-- takes: credential_record
DELETE FROM connects WHERE credential_id = :id AND project_id = :project_id;

-- name: connect_remove_credential
-- takes: connect_record
DELETE FROM credentials WHERE id = :credential_id AND project_id = :project_id;

-- name: connect_remove_of
-- takes: member_record
DELETE FROM connects WHERE project_id = :project_id AND owner_id = :user_id;

-- name: connect_remove_all
-- takes: record_lookup
DELETE FROM connects WHERE project_id = :id;

-- name: connect_purge
-- takes: record_lookup
DELETE FROM connects WHERE state IN ('pending', 'exchanging', 'failed') AND expires_at < :now;
