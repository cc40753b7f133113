-- Bundles of files that agents load into their workspace: a whole bundle is one value, small enough to be one.
CREATE TABLE skills (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	files_json TEXT NOT NULL,
	file_count INTEGER NOT NULL,
	size_bytes INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX skills_by_name ON skills (project_id, name);
