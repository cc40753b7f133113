-- Logins of users at OAuth services, whose tokens become credentials. `secret_json` rests encrypted: the
-- client, the verifier, the refresh token. `state_hash` is of the text that comes back from the service.
CREATE TABLE connects (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	owner_id TEXT NOT NULL,
	name TEXT NOT NULL,
	preset TEXT NOT NULL,
	method TEXT NOT NULL,
	state TEXT NOT NULL,
	problem TEXT NOT NULL,
	scopes TEXT NOT NULL,
	request_json TEXT NOT NULL,
	service_json TEXT NOT NULL,
	secret_json TEXT NOT NULL,
	state_hash TEXT NOT NULL,
	credential_id TEXT NOT NULL,
	revision INTEGER NOT NULL,
	due_at INTEGER NOT NULL,
	interval_ms INTEGER NOT NULL,
	claimed_until INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX connects_by_project ON connects (project_id, owner_id);
CREATE INDEX connects_by_state ON connects (state_hash) WHERE state_hash <> '';
CREATE INDEX connects_by_due ON connects (due_at) WHERE due_at > 0;
