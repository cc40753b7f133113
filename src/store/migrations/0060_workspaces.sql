-- The workspace whose files a volume keeps; empty: none. Several sandboxes write such a volume.
ALTER TABLE volumes ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
