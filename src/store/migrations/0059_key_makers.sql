-- The user or key that made a key; '' = not known.
ALTER TABLE keys ADD COLUMN made_by TEXT NOT NULL DEFAULT '';
