-- Named secrets of a project: the newest value of each, which rests encrypted.
CREATE TABLE vault (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	metadata_json TEXT NOT NULL,
	version INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX vault_by_name ON vault (project_id, name);
