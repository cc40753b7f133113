-- fragment: user
id, email, name, password, is_admin, issuer, subject, created_at, updated_at, disabled_at,
last_used_at

-- name: user_insert
-- takes: user_record
INSERT INTO users ({user}) VALUES ({:user})
ON CONFLICT DO NOTHING;

-- name: user_count
-- gives: row_count
SELECT count(*) AS count FROM users;

-- Those that can sign in and have done so. An invited admin may never come.
-- name: user_count_admins
-- gives: row_count
SELECT count(*) AS count FROM users
WHERE is_admin <> 0 AND disabled_at = 0 AND last_used_at > 0;

-- name: user_find
-- takes: record_lookup
-- gives: user_record
SELECT {user} FROM users WHERE id = :id;

-- name: user_find_by_email
-- takes: user_record
-- gives: user_record
SELECT {user} FROM users WHERE email = :email;

-- name: user_find_by_subject
-- takes: user_record
-- gives: user_record
SELECT {user} FROM users WHERE subject <> '' AND issuer = :issuer AND subject = :subject;

-- name: user_list
-- takes: user_page
-- gives: user_record
SELECT {user} FROM users WHERE email > :after ORDER BY email LIMIT :limit;

-- name: user_update
-- takes: user_record
UPDATE users
SET name = :name, password = :password, is_admin = :is_admin, issuer = :issuer,
	subject = :subject, updated_at = :updated_at, disabled_at = :disabled_at,
	last_used_at = :last_used_at
WHERE id = :id AND NOT EXISTS (
	SELECT 1 FROM users AS other
	WHERE :subject <> '' AND other.issuer = :issuer AND other.subject = :subject
		AND other.id <> :id);

-- name: user_remove
-- takes: record_lookup
DELETE FROM users WHERE id = :id;
