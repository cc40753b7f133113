-- The address by which connections of a project's sandboxes leave; '' = any of the host. No two
-- projects share one.
ALTER TABLE projects ADD COLUMN source_address TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX projects_by_source_address ON projects (source_address)
	WHERE source_address <> '';
