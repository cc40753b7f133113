-- What is kept and costs, by the id of a sandbox, volume, snapshot or backup: how large it was when
-- it was measured last, and until when that is in usage_log.
CREATE TABLE holdings (
	id TEXT NOT NULL PRIMARY KEY,
	bytes INTEGER NOT NULL,
	measured_at INTEGER NOT NULL,
	metered_at INTEGER NOT NULL,
	unbilled_nano INTEGER NOT NULL
) STRICT;
