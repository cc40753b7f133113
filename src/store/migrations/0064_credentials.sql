-- Credentials that network rules use outside of sandboxes. `fields_json` rests encrypted. `owner_id`
-- is a user; '' = the project. `version` counts the values, `revision` every change of the row.
CREATE TABLE credentials (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	owner_id TEXT NOT NULL,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	preset TEXT NOT NULL,
	about TEXT NOT NULL,
	hosts TEXT NOT NULL,
	consent TEXT NOT NULL,
	fields_json TEXT NOT NULL,
	field_names TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	needs_login INTEGER NOT NULL,
	version INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX credentials_by_name ON credentials (project_id, owner_id, name);
