-- secret: fields_json of credentials by id
-- fragment: credential
id, project_id, owner_id, name, preset, about, kind, consent, hosts, environment, fields_json,
field_names, fingerprint, needs_login, version, revision, expires_at, last_used_at, created_at, updated_at

-- name: credential_insert
-- takes: credential_record
INSERT INTO credentials ({credential})
VALUES (:id, :project_id, :owner_id, :name, :preset, :about, :kind, :consent, :hosts, :environment,
	:fields_json, :field_names, :fingerprint, :needs_login, 1, 1, :expires_at, 0, :created_at, :updated_at)
ON CONFLICT DO NOTHING;

-- name: credential_count
-- takes: credential_ref
-- gives: row_count
SELECT count(*) AS count FROM credentials
WHERE project_id = :project_id AND owner_id = :owner_id;

-- name: credential_update
-- takes: credential_record
-- gives: credential_record
UPDATE credentials
SET preset = :preset, about = :about, kind = :kind, consent = :consent, hosts = :hosts,
	environment = :environment,
	fields_json = :fields_json, field_names = :field_names, fingerprint = :fingerprint, needs_login = :needs_login,
	version = :version, revision = revision + 1, expires_at = :expires_at,
	updated_at = :updated_at
WHERE id = :id AND project_id = :project_id AND revision = :revision
RETURNING {credential};

-- The user's own comes first.
-- name: credential_find
-- takes: credential_ref
-- gives: credential_record
SELECT {credential} FROM credentials
WHERE project_id = :project_id AND owner_id IN ('', :owner_id) AND (name = :name OR id = :name)
ORDER BY owner_id DESC
LIMIT 1;

-- name: credential_list
-- takes: credential_ref
-- gives: credential_record
SELECT id, project_id, owner_id, name, preset, about, kind, consent, hosts, environment, '' AS fields_json,
	field_names, fingerprint, needs_login, version, revision, expires_at, last_used_at, created_at, updated_at
FROM credentials
WHERE project_id = :project_id AND owner_id IN ('', :owner_id)
ORDER BY name, owner_id;

-- For the audit.
-- name: credential_find_by_id
-- takes: record_lookup
-- gives: credential_record
SELECT {credential} FROM credentials WHERE id = :id;

-- name: credential_remove
-- takes: credential_record
DELETE FROM credentials WHERE id = :id AND project_id = :project_id;

-- name: credential_remove_of
-- takes: member_record
DELETE FROM credentials WHERE project_id = :project_id AND owner_id = :user_id;

-- name: credential_remove_all
-- takes: record_lookup
DELETE FROM credentials WHERE project_id = :id;

-- name: credential_touch
-- takes: record_lookup
UPDATE credentials SET last_used_at = :now WHERE id = :id AND last_used_at < :now;

-- Values that requests had: see store_credential_keep.
-- name: credential_count_kept
-- takes: record_lookup
-- gives: row_count
SELECT count(*) AS count FROM credentials
WHERE project_id = :project_id AND name LIKE 'literal!_%' ESCAPE '!';

-- name: credential_purge_kept
-- takes: record_lookup
DELETE FROM credentials
WHERE name LIKE 'literal!_%' ESCAPE '!' AND created_at < :now AND NOT EXISTS (
	SELECT 1 FROM sandboxes
	WHERE sandboxes.project_id = credentials.project_id AND sandboxes.rules_json <> ''
		AND sandboxes.rules_json LIKE '%' || credentials.name || '.%');
