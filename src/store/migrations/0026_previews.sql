-- What of a sandbox may be seen from outside. Links that were given out hold until the generation
-- changes.
ALTER TABLE sandboxes ADD COLUMN preview_off INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN preview_public INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN preview_generation INTEGER NOT NULL DEFAULT 0;
