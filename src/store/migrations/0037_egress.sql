-- Whom a sandbox may reach, as of sandbox/egress.h: "+1.1.1.1 -0.0.0.0/0"; '' = no rules.
ALTER TABLE sandboxes ADD COLUMN egress TEXT NOT NULL DEFAULT '';
