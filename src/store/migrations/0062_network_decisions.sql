-- Which connections of sandboxes their network rules allowed and refused. Rows outlive their
-- sandbox, as those of activity do; the newest row is never purged, so no number is used again.
CREATE TABLE network_decisions (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	project_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	verdict TEXT NOT NULL,
	code TEXT NOT NULL,
	protocol TEXT NOT NULL,
	host TEXT NOT NULL,
	address TEXT NOT NULL,
	port INTEGER NOT NULL,
	rule TEXT NOT NULL,
	count INTEGER NOT NULL,
	bytes_in INTEGER NOT NULL,
	bytes_out INTEGER NOT NULL
) STRICT;
CREATE INDEX network_decisions_by_sandbox ON network_decisions (sandbox_id, sequence);
