-- The columns of struct sandbox_timeouts, in the order of its rows: those that templates and projects
-- have, and all of a sandbox.
-- shared: inherited_timeouts
idle_reap_ms, lifetime_max_ms, idle_pause_ms, idle_stop_ms
-- shared: timeouts
{inherited_timeouts}, archive_after_ms, delete_after_ms
