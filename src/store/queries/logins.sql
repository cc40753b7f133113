-- fragment: login
id, hash, kind, owner_id, project_id, address, user_agent, created_at, expires_at, last_used_at

-- name: login_insert
-- takes: login_record
INSERT INTO logins ({login}) VALUES ({:login})
ON CONFLICT DO NOTHING;

-- name: login_find
-- takes: login_record
-- gives: login_record
SELECT {login} FROM logins WHERE hash = :hash;

-- name: login_list
-- takes: login_record
-- gives: login_record
SELECT {login} FROM logins WHERE owner_id = :owner_id ORDER BY created_at DESC, id DESC;

-- name: login_end
-- takes: login_record
DELETE FROM logins WHERE id = :id AND owner_id = :owner_id;

-- name: login_end_hash
-- takes: login_record
DELETE FROM logins WHERE hash = :hash;

-- `id`: the login that stays.
-- name: login_end_others
-- takes: login_record
DELETE FROM logins WHERE owner_id = :owner_id AND id <> :id;

-- name: login_purge
-- takes: login_record
DELETE FROM logins WHERE expires_at <= :created_at;

-- name: login_touch
-- takes: touch
UPDATE logins SET last_used_at = :at WHERE id = :id AND last_used_at < :at;

-- name: login_memberships
-- takes: membership_lookup
-- gives: membership
SELECT projects.id AS project_id, projects.name AS project_name,
	CASE WHEN above.role IS NULL THEN COALESCE(members.role, '') ELSE 'admin' END AS role
FROM projects LEFT JOIN members ON members.project_id = projects.id AND members.user_id = :email
LEFT JOIN organization_members AS above ON above.organization_id = projects.organization_id
	AND above.user_id = :email AND above.role IN ('owner', 'admin')
WHERE projects.closing = 0
	AND (:is_admin <> 0 OR members.role IS NOT NULL OR above.role IS NOT NULL)
	AND (:project_id IS NULL OR projects.id = :project_id)
ORDER BY CASE WHEN members.role IS NULL THEN 1 ELSE 0 END, projects.name LIMIT :limit;

-- name: attempt_find
-- takes: attempt_record
-- gives: attempt_record
SELECT id, attempts, began_at FROM sign_in_attempts WHERE id = :id;

-- name: attempt_put
-- takes: attempt_record
INSERT INTO sign_in_attempts (id, attempts, began_at) VALUES (:id, :attempts, :began_at)
ON CONFLICT (id) DO UPDATE SET attempts = :attempts, began_at = :began_at;

-- name: attempt_take_back
-- takes: attempt_record
UPDATE sign_in_attempts SET attempts = attempts - 1 WHERE id = :id AND attempts > 0;

-- name: attempt_forget
-- takes: attempt_record
DELETE FROM sign_in_attempts WHERE id = :id;

-- name: attempt_purge
-- takes: attempt_record
DELETE FROM sign_in_attempts WHERE began_at <= :began_at;
