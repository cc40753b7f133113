-- Times are unix milliseconds, 0 = none. Choices are words, as in the API. JSON is text that the
-- platform wrote itself.

CREATE TABLE projects (
	id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	sandboxes_max INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (name);

CREATE TABLE keys (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	prefix TEXT NOT NULL,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	scopes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX keys_by_hash ON keys (hash);
CREATE INDEX keys_by_project ON keys (project_id, created_at);

-- project_id '' = everybody's, so it refers to no row.
CREATE TABLE templates (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	name TEXT NOT NULL,
	folder TEXT NOT NULL,
	base_image TEXT NOT NULL,
	runtime TEXT NOT NULL,
	isolation TEXT NOT NULL,
	description TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	entrypoint_json TEXT NOT NULL CHECK (json_valid(entrypoint_json)),
	ports_json TEXT NOT NULL CHECK (json_valid(ports_json)),
	"user" TEXT NOT NULL,
	workdir TEXT NOT NULL,
	state TEXT NOT NULL,
	state_text TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX templates_by_name ON templates (project_id, name);

-- A deleted sandbox keeps its row for a while, so template_id may outlive its template.
CREATE TABLE sandboxes (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	provider TEXT NOT NULL,
	region TEXT NOT NULL,
	labels_json TEXT NOT NULL CHECK (json_valid(labels_json)),
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	desired TEXT NOT NULL,
	actual TEXT NOT NULL,
	reason TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	disk_is_advisory INTEGER NOT NULL,
	persistent INTEGER NOT NULL,
	privileges INTEGER NOT NULL,
	network TEXT NOT NULL,
	idle_reap_ms INTEGER NOT NULL,
	lifetime_max_ms INTEGER NOT NULL,
	timeout_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	stopped_at INTEGER NOT NULL,
	last_activity_at INTEGER NOT NULL,
	last_event_at INTEGER NOT NULL,
	last_event TEXT NOT NULL,
	version INTEGER NOT NULL
) STRICT;
CREATE INDEX sandboxes_by_age ON sandboxes (created_at, id);
CREATE INDEX sandboxes_by_project ON sandboxes (project_id, created_at, id);
CREATE INDEX sandboxes_by_name ON sandboxes (project_id, name);
-- A name is free again as soon as its sandbox fails or begins to go.
CREATE UNIQUE INDEX sandboxes_living ON sandboxes (project_id, name)
	WHERE actual NOT IN ('deleting', 'deleted', 'failed');

CREATE TABLE events (
	sequence INTEGER PRIMARY KEY AUTOINCREMENT,
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	text TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_sandbox ON events (sandbox_id, sequence);
