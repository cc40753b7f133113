-- How long after it was stopped; 0 = never.
ALTER TABLE sandboxes ADD COLUMN archive_after_ms INTEGER NOT NULL DEFAULT 0;
