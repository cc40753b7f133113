-- Whether the server pulled the template's image by itself, as a cache; when the template was last used (0 = never);
-- and the code and hint of the failure in state_text.
ALTER TABLE templates ADD COLUMN is_pulled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE templates ADD COLUMN failure TEXT NOT NULL DEFAULT '';
