-- /v1/sandbox: a tenant's session is one sandbox.
CREATE TABLE sessions (
	project_id TEXT NOT NULL REFERENCES projects (id),
	tenant_id TEXT NOT NULL,
	session_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	created_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, tenant_id, session_id)
) STRICT;
CREATE INDEX sessions_by_sandbox ON sessions (sandbox_id);
