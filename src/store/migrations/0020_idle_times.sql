-- After how long without use what happens, by template, then by project. 0 = not said, -1 = never.
ALTER TABLE projects ADD COLUMN idle_pause_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN idle_stop_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN idle_pause_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN idle_stop_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN idle_reap_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN lifetime_max_ms INTEGER NOT NULL DEFAULT 0;
