-- The one warm sandbox of a key. sandbox_id refers to no row: while a lease is being made its
-- sandbox is not there yet, and a row may outlive it. '' = none.
CREATE TABLE leases (
	project_id TEXT NOT NULL REFERENCES projects (id),
	key TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	status TEXT NOT NULL,
	lock_version INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	creating_since INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	last_activity_at INTEGER NOT NULL,
	usage_ms INTEGER NOT NULL,
	active_since INTEGER NOT NULL,
	PRIMARY KEY (project_id, key)
) STRICT;
CREATE INDEX leases_by_sandbox ON leases (sandbox_id);
-- Which sandboxes were begun for leases, written with the claim: one that no lease points to has
-- lost, or its lease was given up, and is removed.
CREATE TABLE lease_sandboxes (
	sandbox_id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	claimed_at INTEGER NOT NULL
) STRICT;
