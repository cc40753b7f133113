-- parent_id '' = it was taken of what lay on the template alone. Sandbox and parent may be gone.
CREATE TABLE snapshots (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	sandbox_name TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	provider TEXT NOT NULL,
	node TEXT NOT NULL,
	state TEXT NOT NULL,
	method TEXT NOT NULL,
	because TEXT NOT NULL,
	depth INTEGER NOT NULL,
	frozen_us INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX snapshots_by_name ON snapshots (project_id, name);
CREATE INDEX snapshots_by_age ON snapshots (project_id, created_at, id);
CREATE INDEX snapshots_by_sandbox ON snapshots (sandbox_id);
CREATE INDEX snapshots_by_template ON snapshots (template_id);

-- The snapshot that a sandbox was made of, restored to, or taken of it last.
CREATE TABLE snapshot_bases (
	sandbox_id TEXT NOT NULL PRIMARY KEY REFERENCES sandboxes (id) ON DELETE CASCADE,
	snapshot_id TEXT NOT NULL
) STRICT;
