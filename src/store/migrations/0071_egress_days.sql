-- Bytes that sandboxes have sent in a UTC day (`day`: unix ms of its begin), for the quota
-- egress_mb_per_day. `egress_seen` of a sandbox is what its counter showed when they were last added;
-- the counter begins anew with each start.
CREATE TABLE egress_days (
	project_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	day INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	PRIMARY KEY (project_id, day, key_id)
) STRICT;
CREATE INDEX egress_days_by_key ON egress_days (key_id, day);
CREATE INDEX egress_days_by_day ON egress_days (day);
ALTER TABLE sandboxes ADD COLUMN egress_seen INTEGER NOT NULL DEFAULT 0;
