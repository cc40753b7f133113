-- What was called in sandboxes. Rows outlive their sandbox and their key, so they refer to neither.
-- As in events, the newest row is never purged, so no number is used again.
CREATE TABLE activity (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	written_at INTEGER NOT NULL,
	project_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	operation TEXT NOT NULL,
	arguments TEXT NOT NULL,
	user_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	conversation TEXT NOT NULL,
	outcome TEXT NOT NULL,
	exit_code INTEGER NOT NULL,
	error TEXT NOT NULL,
	duration_ms INTEGER NOT NULL,
	output_bytes INTEGER NOT NULL,
	head TEXT NOT NULL,
	tail TEXT NOT NULL,
	encoding TEXT NOT NULL,
	artifacts_json TEXT NOT NULL
) STRICT;
CREATE INDEX activity_by_sandbox ON activity (sandbox_id, sequence);
CREATE INDEX activity_by_project ON activity (project_id, sequence);
