-- Storage that outlives sandboxes. A name is taken until nothing is left of its volume.
CREATE TABLE volumes (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	provider TEXT NOT NULL,
	node TEXT NOT NULL,
	size_mb INTEGER NOT NULL,
	size_is_advisory INTEGER NOT NULL,
	state TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	version INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX volumes_by_name ON volumes (project_id, name);

-- Which sandbox has which volume where. The row of a sandbox that was deleted or has failed holds
-- nothing any more, and goes when somebody tidies up: a delete of a sandbox asks for no query.
CREATE TABLE mounts (
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	volume_id TEXT NOT NULL REFERENCES volumes (id),
	path TEXT NOT NULL,
	is_read_only INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, path)
) STRICT;
CREATE INDEX mounts_by_volume ON mounts (volume_id);
