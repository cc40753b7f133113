-- Tokens of chat services, which the ends of background jobs are told through.
CREATE TABLE channels (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	base_url TEXT NOT NULL,
	token TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX channels_by_name ON channels (project_id, name);
CREATE INDEX jobs_by_delivery ON jobs (project_id, created_at) WHERE delivery <> 'none';
