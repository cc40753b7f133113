-- Members with roles, keys of members, secrets that were replaced, settings, reusable configs.
ALTER TABLE projects ADD COLUMN max_cpu REAL NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN max_memory_mb INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN max_disk_mb INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN max_pids INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN idle_reap_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN lifetime_max_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN terminal_ttl_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN closing INTEGER NOT NULL DEFAULT 0;

CREATE TABLE members (
	project_id TEXT NOT NULL REFERENCES projects (id),
	user_id TEXT NOT NULL,
	role TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, user_id)
) STRICT;

-- '' = nobody's, so it refers to no row.
ALTER TABLE keys ADD COLUMN user_id TEXT NOT NULL DEFAULT '';

CREATE TABLE key_secrets (
	old_hash BLOB NOT NULL PRIMARY KEY CHECK (length(old_hash) = 32),
	key_id TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
	valid_until INTEGER NOT NULL
) STRICT;
CREATE INDEX key_secrets_by_key ON key_secrets (key_id);

CREATE TABLE sandbox_configs (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	config_json TEXT NOT NULL CHECK (json_valid(config_json)),
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX sandbox_configs_by_name ON sandbox_configs (project_id, name);
