-- Events are the server's: they have a project and a reason, and outlive their sandbox. A number
-- is not used again although nothing but the table counts, for the newest row is never purged: so
-- there is no AUTOINCREMENT, which costs every event a page of log.
CREATE TABLE events_of_all (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	project_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	reason TEXT NOT NULL,
	text TEXT NOT NULL
) STRICT;
INSERT INTO events_of_all (at, project_id, sandbox_id, kind, reason, text)
SELECT e.at, s.project_id, e.sandbox_id,
	CASE e.kind WHEN 'pending' THEN 'sandbox.created' WHEN 'creating' THEN 'sandbox.starting'
		ELSE 'sandbox.' || e.kind END,
	'', e.text
FROM events e JOIN sandboxes s ON s.id = e.sandbox_id
ORDER BY e.sequence;
DROP TABLE events;
ALTER TABLE events_of_all RENAME TO events;
CREATE INDEX events_by_sandbox ON events (sandbox_id, sequence);
