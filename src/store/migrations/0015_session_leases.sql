-- The sessions of /v1/sandbox are leases, whose keys are as lease_session_key makes them.
INSERT INTO leases (project_id, key, sandbox_id, status, lock_version, epoch, creating_since,
	created_at, last_activity_at, usage_ms, active_since)
SELECT project_id, 'session:' || replace(replace(tenant_id, '%', '%25'), '/', '%2F') || '/'
		|| replace(replace(session_id, '%', '%25'), '/', '%2F'),
	sandbox_id, 'ready', 1, 1, created_at, created_at, last_used_at, 0, 0
FROM sessions WHERE 1 = 1
ON CONFLICT DO NOTHING;
INSERT INTO lease_sandboxes (sandbox_id, project_id, key, epoch, claimed_at)
SELECT sandbox_id, project_id, key, epoch, created_at FROM leases
WHERE key LIKE 'session:%' AND sandbox_id <> ''
ON CONFLICT DO NOTHING;
DROP TABLE sessions;
