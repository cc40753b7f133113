-- fragment: member
project_id, user_id, role, created_at, updated_at

-- name: member_insert
-- takes: member_record
INSERT INTO members ({member}) VALUES ({:member})
ON CONFLICT DO NOTHING;

-- name: member_find
-- takes: member_record
-- gives: member_record
SELECT {member} FROM members WHERE project_id = :project_id AND user_id = :user_id;

-- name: member_list
-- takes: record_lookup
-- gives: member_record
SELECT {member} FROM members WHERE project_id = :project_id ORDER BY user_id;

-- name: member_list_of
-- takes: member_record
-- gives: member_record
SELECT {member} FROM members WHERE user_id = :user_id ORDER BY project_id;

-- name: member_count
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM members WHERE project_id = :project_id;

-- name: member_count_admins
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM members WHERE project_id = :project_id AND role = 'admin';

-- Without users who are disabled or have never signed in. A name that is no user here counts: the
-- platform in front of this server has verified it.
-- name: member_count_usable_admins
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM members
WHERE project_id = :project_id AND role = 'admin'
	AND NOT EXISTS (SELECT 1 FROM users
		WHERE users.email = members.user_id
			AND (users.disabled_at > 0 OR users.last_used_at = 0));

-- name: member_set_role
-- takes: member_record
UPDATE members SET role = :role, updated_at = :updated_at
WHERE project_id = :project_id AND user_id = :user_id;

-- name: member_remove
-- takes: member_record
DELETE FROM members WHERE project_id = :project_id AND user_id = :user_id;

-- name: member_remove_all
-- takes: record_lookup
DELETE FROM members WHERE project_id = :id;

-- In every project and organization.
-- name: member_count_roles
-- takes: member_record
-- gives: row_count
SELECT (SELECT count(*) FROM members WHERE user_id = :user_id)
	+ (SELECT count(*) FROM organization_members WHERE user_id = :user_id) AS count;
