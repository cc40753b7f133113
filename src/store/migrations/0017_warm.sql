-- Interpreters that a template's sandboxes keep ready, and what they import.
ALTER TABLE templates ADD COLUMN warm_json TEXT NOT NULL DEFAULT '[]';
