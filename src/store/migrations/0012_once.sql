-- Requests that carry an idempotency key, so that a repeated one makes nothing twice. sandbox_id is
-- what the first one makes, or has made.
CREATE TABLE once (
	project_id TEXT NOT NULL,
	operation TEXT NOT NULL,
	key TEXT NOT NULL,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	sandbox_id TEXT NOT NULL,
	done INTEGER NOT NULL,
	created INTEGER NOT NULL,
	begun_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, operation, key)
) STRICT;
CREATE INDEX once_by_age ON once (begun_at);
