-- fragment: invitation
id, hash, kind, project_id, email, role, is_admin, invited_by, created_at, expires_at

-- name: invitation_insert
-- takes: invitation_record
INSERT INTO invitations ({invitation}) VALUES ({:invitation})
ON CONFLICT DO NOTHING;

-- name: invitation_find
-- takes: invitation_record
-- gives: invitation_record
SELECT {invitation} FROM invitations WHERE hash = :hash AND expires_at > :expires_at;

-- name: invitation_list
-- takes: record_lookup
-- gives: invitation_record
SELECT {invitation} FROM invitations
WHERE kind = 'join' AND project_id = :project_id AND expires_at > :now
ORDER BY created_at DESC, id DESC;

-- name: invitation_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM invitations WHERE kind = 'join' AND project_id = :project_id;

-- name: invitation_purge
-- takes: record_lookup
DELETE FROM invitations WHERE expires_at <= :now;

-- A newer one for the same address replaces it.
-- name: invitation_replace
-- takes: invitation_record
DELETE FROM invitations WHERE kind = 'join' AND project_id = :project_id AND email = :email;

-- name: invitation_remove
-- takes: record_lookup
DELETE FROM invitations WHERE kind = 'join' AND project_id = :project_id AND id = :id;

-- name: invitation_use
-- takes: invitation_record
DELETE FROM invitations WHERE hash = :hash AND expires_at > :expires_at;

-- name: invitation_remove_setup
DELETE FROM invitations WHERE kind = 'setup';

-- name: invitation_count_setup
-- gives: row_count
SELECT count(*) AS count FROM invitations WHERE kind = 'setup';

-- name: invitation_drop_setup
DELETE FROM invitations WHERE id = (
	SELECT id FROM invitations WHERE kind = 'setup' ORDER BY created_at, id LIMIT 1);

-- name: invitation_remove_all
-- takes: record_lookup
DELETE FROM invitations WHERE project_id = :id;

-- Those that a member made who may invite no longer.
-- name: invitation_remove_made
-- takes: member_record
DELETE FROM invitations
WHERE kind = 'join' AND project_id = :project_id AND invited_by = :user_id;

-- Of a removed user: the links to the address, and those that the user made.
-- name: invitation_remove_user
-- takes: invitation_record
DELETE FROM invitations WHERE kind = 'join' AND (email = :email OR invited_by = :email);
