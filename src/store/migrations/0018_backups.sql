-- What is in the blob store. holder_id '' = a user's; else the archived sandbox that it belongs to.
CREATE TABLE backups (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	holder_id TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	snapshot_name TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	template_digest TEXT NOT NULL,
	node TEXT NOT NULL,
	state TEXT NOT NULL,
	state_text TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	files INTEGER NOT NULL,
	files_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX backups_by_name ON backups (project_id, name);
CREATE INDEX backups_by_age ON backups (project_id, created_at, id);
CREATE INDEX backups_by_holder ON backups (holder_id);
