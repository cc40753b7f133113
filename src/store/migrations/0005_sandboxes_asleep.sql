-- When an unused sandbox is paused and stopped, when a stopped one is deleted; 0 = never. It is kept
-- awake until awake_until.
ALTER TABLE sandboxes ADD COLUMN idle_pause_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN idle_stop_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN delete_after_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN awake_until INTEGER NOT NULL DEFAULT 0;
