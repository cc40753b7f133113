CREATE TABLE webhooks (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	url TEXT NOT NULL,
	secret TEXT NOT NULL,
	patterns TEXT NOT NULL,
	state_text TEXT NOT NULL,
	enabled INTEGER NOT NULL,
	after INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_by_project ON webhooks (project_id, created_at);

-- One row: up to which event webhooks have been looked for, and a count of changes of webhooks.
CREATE TABLE webhook_cursor (
	id INTEGER NOT NULL PRIMARY KEY,
	sequence INTEGER NOT NULL,
	generation INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_cursor (id, sequence, generation) VALUES (1, 0, 0);

CREATE TABLE deliveries (
	id TEXT NOT NULL PRIMARY KEY,
	webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
	sequence INTEGER NOT NULL,
	kind TEXT NOT NULL,
	body TEXT NOT NULL,
	state TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	status INTEGER NOT NULL,
	error TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	next_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, state, sequence);
CREATE INDEX deliveries_by_end ON deliveries (ended_at) WHERE state <> 'waiting';
