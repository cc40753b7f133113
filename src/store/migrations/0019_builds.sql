-- Templates that are built by steps lie on a snapshot of their last step. '' = on their folder alone.
ALTER TABLE templates ADD COLUMN snapshot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN ready TEXT NOT NULL DEFAULT '';
-- 'taken': somebody asked for it. 'layer': the result of a step of a build.
ALTER TABLE snapshots ADD COLUMN kind TEXT NOT NULL DEFAULT 'taken';

CREATE TABLE builds (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	key_id TEXT NOT NULL,
	name TEXT NOT NULL,
	source TEXT NOT NULL,
	template_id TEXT NOT NULL,
	state TEXT NOT NULL,
	step INTEGER NOT NULL,
	step_count INTEGER NOT NULL,
	cached_count INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	message TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	node TEXT NOT NULL,
	log_lines INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX builds_by_age ON builds (project_id, created_at, id);
CREATE INDEX builds_by_state ON builds (state);

-- Lines of a build's log, as NDJSON text, so many from the first.
CREATE TABLE build_logs (
	build_id TEXT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
	first_line INTEGER NOT NULL,
	line_count INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (build_id, first_line)
) STRICT;

-- Which layer a step leads to, on the server that has it.
CREATE TABLE build_cache (
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	node TEXT NOT NULL,
	key TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	used_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, node, key)
) STRICT;
CREATE INDEX build_cache_by_snapshot ON build_cache (snapshot_id);
CREATE INDEX build_cache_by_use ON build_cache (node, used_at);
CREATE INDEX templates_by_snapshot ON templates (snapshot_id);
