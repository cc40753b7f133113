-- Tool calls that wait for somebody's word, until they expire. They go by themselves, so they hold no project.
CREATE TABLE approvals (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	tool TEXT NOT NULL,
	input TEXT NOT NULL,
	hash BLOB NOT NULL,
	state TEXT NOT NULL,
	note TEXT NOT NULL,
	decided_by TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	decided_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX approvals_by_age ON approvals (project_id, created_at, id);
CREATE INDEX approvals_by_hash ON approvals (project_id, key_id, hash);
