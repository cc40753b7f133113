-- Files of sandboxes that are kept in the blob store. Their sandboxes may be gone.
CREATE TABLE artifacts (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	key_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	sandbox_name TEXT NOT NULL,
	run TEXT NOT NULL,
	node TEXT NOT NULL,
	path TEXT NOT NULL,
	media_type TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	secret TEXT NOT NULL,
	state TEXT NOT NULL,
	process INTEGER NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	metered_at INTEGER NOT NULL,
	unbilled_nano INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_by_age ON artifacts (project_id, created_at, id);
CREATE INDEX artifacts_by_sandbox ON artifacts (sandbox_id);
CREATE INDEX artifacts_by_meter ON artifacts (node, metered_at);
-- What a project sets; 0 = the platform's.
ALTER TABLE projects ADD COLUMN artifacts_max_mb INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN artifacts_keep_ms INTEGER NOT NULL DEFAULT 0;
