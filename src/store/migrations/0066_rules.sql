-- Rules for requests of a sandbox that get credentials, as JSON; '' = none.
ALTER TABLE sandboxes ADD COLUMN rules_json TEXT NOT NULL DEFAULT '';
CREATE INDEX sandboxes_with_rules ON sandboxes (node) WHERE rules_json <> '';

-- The certificate authority of a sandbox with such rules. The key rests encrypted.
CREATE TABLE authorities (
	id TEXT NOT NULL PRIMARY KEY,
	certificate TEXT NOT NULL,
	key_pem TEXT NOT NULL,
	expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;

-- What persons allowed: the use of one version of a credential, for these hosts, in a sandbox. One that
-- has ended keeps its row for some time, so that it can be told.
CREATE TABLE consents (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	sandbox_id TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	credential_id TEXT NOT NULL,
	credential_name TEXT NOT NULL,
	credential_version INTEGER NOT NULL,
	hosts TEXT NOT NULL,
	approval_id TEXT NOT NULL,
	decided_by TEXT NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX consents_by_sandbox ON consents (sandbox_id, credential_id);
CREATE INDEX consents_by_project ON consents (project_id, created_at);
