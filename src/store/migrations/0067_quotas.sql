-- Quotas: limits of a project, a key or an organisation. `used` counts what the minute that begins at
-- `window_at` has used of a limit per minute. Rows refer to nothing: ids are never used again.
CREATE TABLE quotas (
	scope TEXT NOT NULL,
	subject TEXT NOT NULL,
	name TEXT NOT NULL,
	value REAL NOT NULL,
	window_at INTEGER NOT NULL,
	used INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (scope, subject, name)
) STRICT;

CREATE INDEX sandboxes_living_by_key ON sandboxes (key_id)
	WHERE actual NOT IN ('deleting', 'deleted', 'failed');
