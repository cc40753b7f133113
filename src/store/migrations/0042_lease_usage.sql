-- usage_ms was the time between acquires and releases; it is now what a lease's sandboxes before the
-- one that it has were active for, so what this one was is taken from it. No total falls by that.
UPDATE leases
SET usage_ms = COALESCE((
	SELECT CASE WHEN leases.usage_ms > sandboxes.active_ms
		THEN leases.usage_ms - sandboxes.active_ms ELSE 0 END
	FROM sandboxes WHERE sandboxes.id = leases.sandbox_id), usage_ms);
