-- Commands that a sandbox's agent keeps running. is_told: the agent has heard of this generation.
CREATE TABLE services (
	id TEXT NOT NULL PRIMARY KEY,
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	command TEXT NOT NULL,
	args_json TEXT NOT NULL,
	cwd TEXT NOT NULL,
	run_as TEXT NOT NULL,
	env_json TEXT NOT NULL,
	restart TEXT NOT NULL,
	failures_max INTEGER NOT NULL,
	delay_ms INTEGER NOT NULL,
	stop_ms INTEGER NOT NULL,
	keeps_awake INTEGER NOT NULL,
	wish TEXT NOT NULL,
	generation INTEGER NOT NULL,
	is_told INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	UNIQUE (sandbox_id, name)
) STRICT;
CREATE INDEX services_to_tell ON services (sandbox_id) WHERE is_told = 0;
