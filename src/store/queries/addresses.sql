-- Addresses in upper case, of versions that compared them exactly. Ids, which have no "@", stay.

-- name: address_count_raised
-- gives: row_count
SELECT (SELECT count(*) FROM users WHERE email <> lower(email))
	+ (SELECT count(*) FROM members WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id))
	+ (SELECT count(*) FROM organization_members
		WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)) AS count;

-- Whether a user or member has exactly this name.
-- name: address_count_named
-- takes: address_record
-- gives: row_count
SELECT (SELECT count(*) FROM users WHERE email = :address)
	+ (SELECT count(*) FROM members WHERE user_id = :address)
	+ (SELECT count(*) FROM organization_members WHERE user_id = :address) AS count;

-- Two users of one address stay as they are.
-- name: address_lower_users
UPDATE users SET email = lower(email)
WHERE email <> lower(email) AND NOT EXISTS (
	SELECT 1 FROM users AS other
	WHERE other.id <> users.id AND lower(other.email) = lower(users.email));

-- A user that stays in upper case keeps its memberships and keys.
-- name: address_lower_members
UPDATE members SET user_id = lower(user_id)
WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = members.user_id)
	AND NOT EXISTS (
		SELECT 1 FROM members AS other
		WHERE other.project_id = members.project_id AND other.user_id <> members.user_id
			AND lower(other.user_id) = lower(members.user_id));

-- name: address_lower_organization_members
UPDATE organization_members SET user_id = lower(user_id)
WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = organization_members.user_id)
	AND NOT EXISTS (
		SELECT 1 FROM organization_members AS other
		WHERE other.organization_id = organization_members.organization_id
			AND other.user_id <> organization_members.user_id
			AND lower(other.user_id) = lower(organization_members.user_id));

-- A key has the spelling of its member.
-- name: address_lower_keys
UPDATE keys SET user_id = lower(user_id)
WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = keys.user_id)
	AND NOT EXISTS (SELECT 1 FROM members
		WHERE members.project_id = keys.project_id AND members.user_id = keys.user_id);

-- name: address_lower_makers
UPDATE keys SET made_by = lower(made_by)
WHERE instr(made_by, '@') > 0 AND made_by <> lower(made_by)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = keys.made_by)
	AND NOT EXISTS (SELECT 1 FROM members
		WHERE members.project_id = keys.project_id AND members.user_id = keys.made_by);

-- name: address_lower_inviters
UPDATE invitations SET invited_by = lower(invited_by)
WHERE instr(invited_by, '@') > 0 AND invited_by <> lower(invited_by)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = invitations.invited_by)
	AND NOT EXISTS (SELECT 1 FROM members
		WHERE members.project_id = invitations.project_id
			AND members.user_id = invitations.invited_by);

-- name: address_lower_sandboxes
UPDATE sandboxes SET user_id = lower(user_id)
WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
	AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = sandboxes.user_id)
	AND NOT EXISTS (SELECT 1 FROM members
		WHERE members.project_id = sandboxes.project_id AND members.user_id = sandboxes.user_id);

-- name: address_list_raised
-- takes: address_page
-- gives: address_record
SELECT 'user' AS kind, id AS place, email AS address FROM users WHERE email <> lower(email)
UNION ALL
SELECT 'member of project' AS kind, project_id AS place, user_id AS address FROM members
	WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
UNION ALL
SELECT 'member of organization' AS kind, organization_id AS place, user_id AS address
	FROM organization_members WHERE instr(user_id, '@') > 0 AND user_id <> lower(user_id)
ORDER BY address, kind, place LIMIT :limit;
