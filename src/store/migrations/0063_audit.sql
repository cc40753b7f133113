-- The audit: one chain for the database, whatever number of servers writes it. Rows refer to nothing,
-- because they outlive everything. `digest` and `hash` are of src/audit/audit.h.
CREATE TABLE audit (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	id TEXT NOT NULL UNIQUE,
	node TEXT NOT NULL,
	version TEXT NOT NULL,
	project_id TEXT NOT NULL,
	user_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	via TEXT NOT NULL,
	address TEXT NOT NULL,
	user_agent TEXT NOT NULL,
	action TEXT NOT NULL,
	method TEXT NOT NULL,
	path TEXT NOT NULL,
	target_kind TEXT NOT NULL,
	target_id TEXT NOT NULL,
	conversation TEXT NOT NULL,
	result TEXT NOT NULL,
	status INTEGER NOT NULL,
	before_json TEXT NOT NULL,
	after_json TEXT NOT NULL,
	request_id TEXT NOT NULL,
	digest BLOB NOT NULL,
	hash BLOB NOT NULL
) STRICT;
CREATE INDEX audit_by_project ON audit (project_id, sequence);
CREATE INDEX audit_by_target ON audit (target_id, sequence);

-- One row, 'head': the newest row of the chain, and the row up to which old rows are dropped.
CREATE TABLE audit_head (
	id TEXT NOT NULL PRIMARY KEY,
	chain TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	hash BLOB NOT NULL,
	base INTEGER NOT NULL
) STRICT;

CREATE TABLE audit_checkpoints (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	hash BLOB NOT NULL,
	public_key BLOB NOT NULL,
	signature TEXT NOT NULL
) STRICT;
