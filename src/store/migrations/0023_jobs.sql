-- What an event tells to programs, as JSON. '' = nothing but what its other columns say.
ALTER TABLE events ADD COLUMN detail TEXT NOT NULL DEFAULT '';

-- Commands that outlive their call. They outlive their sandbox's row, too.
CREATE TABLE jobs (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	sandbox_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	conversation TEXT NOT NULL,
	channel TEXT NOT NULL,
	origin_json TEXT NOT NULL,
	command TEXT NOT NULL,
	process INTEGER NOT NULL,
	boot_id TEXT NOT NULL,
	state TEXT NOT NULL,
	is_stopping INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	reason TEXT NOT NULL,
	stdout_json TEXT NOT NULL,
	stderr_json TEXT NOT NULL,
	stdout_bytes INTEGER NOT NULL,
	stderr_bytes INTEGER NOT NULL,
	token_hash BLOB NOT NULL,
	token_expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL,
	delivery TEXT NOT NULL,
	delivery_tries INTEGER NOT NULL,
	delivery_status INTEGER NOT NULL,
	delivery_error TEXT NOT NULL,
	delivery_at INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_conversation ON jobs (project_id, conversation, created_at);
CREATE INDEX jobs_by_sandbox ON jobs (sandbox_id, state);
CREATE INDEX jobs_that_run ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_to_deliver ON jobs (delivery_at) WHERE delivery IN ('waiting', 'sending');
CREATE INDEX jobs_by_end ON jobs (ended_at) WHERE state <> 'running';
