-- fragment: organization
id, name, created_at, updated_at

-- name: organization_insert
-- takes: organization_record
INSERT INTO organizations ({organization}) VALUES ({:organization})
ON CONFLICT DO NOTHING;

-- name: organization_count
-- gives: row_count
SELECT count(*) AS count FROM organizations;

-- name: organization_find
-- takes: record_lookup
-- gives: organization_record
SELECT {organization} FROM organizations WHERE id = :id;

-- `user_id` NULL: all.
-- name: organization_list
-- takes: organization_lookup
-- gives: organization_record
SELECT {organization} FROM organizations
WHERE :user_id IS NULL OR EXISTS (
	SELECT 1 FROM organization_members
	WHERE organization_members.organization_id = organizations.id
		AND organization_members.user_id = :user_id)
ORDER BY name;

-- name: organization_rename
-- takes: organization_record
UPDATE organizations SET name = :name, updated_at = :updated_at
WHERE id = :id
	AND NOT EXISTS (SELECT 1 FROM organizations AS other WHERE other.name = :name AND other.id <> :id);

-- name: organization_holds
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM projects WHERE organization_id = :id;

-- name: organization_remove_members
-- takes: record_lookup
DELETE FROM organization_members WHERE organization_id = :id;

-- name: organization_remove
-- takes: record_lookup
DELETE FROM organizations WHERE id = :id;

-- fragment: organization_member
organization_id, user_id, role, created_at, updated_at

-- name: organization_member_put
-- takes: organization_member
INSERT INTO organization_members ({organization_member}) VALUES ({:organization_member})
ON CONFLICT (organization_id, user_id) DO UPDATE SET role = :role, updated_at = :updated_at;

-- name: organization_member_find
-- takes: organization_member
-- gives: organization_member
SELECT {organization_member} FROM organization_members
WHERE organization_id = :organization_id AND user_id = :user_id;

-- name: organization_member_list
-- takes: organization_member
-- gives: organization_member
SELECT {organization_member} FROM organization_members
WHERE organization_id = :organization_id ORDER BY user_id;

-- name: organization_member_count
-- takes: organization_member
-- gives: row_count
SELECT count(*) AS count FROM organization_members WHERE organization_id = :organization_id;

-- Without disabled users. An address that is no user yet counts.
-- name: organization_member_count_owners
-- takes: organization_member
-- gives: row_count
SELECT count(*) AS count FROM organization_members
WHERE organization_id = :organization_id AND role = 'owner'
	AND NOT EXISTS (SELECT 1 FROM users
		WHERE users.email = organization_members.user_id AND users.disabled_at > 0);

-- Those that this user owns and whose last usable owner it may be.
-- name: organization_member_list_owned
-- takes: organization_member
-- gives: organization_member
SELECT {organization_member} FROM organization_members
WHERE user_id = :user_id AND role = 'owner'
	AND NOT EXISTS (SELECT 1 FROM users
		WHERE users.email = organization_members.user_id AND users.disabled_at > 0)
ORDER BY organization_id;

-- name: organization_member_remove
-- takes: organization_member
DELETE FROM organization_members WHERE organization_id = :organization_id AND user_id = :user_id;

-- name: organization_member_leave_all
-- takes: organization_member
DELETE FROM organization_members WHERE user_id = :user_id;
