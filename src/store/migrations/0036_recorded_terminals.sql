-- A project may have all its terminals recorded.
ALTER TABLE projects ADD COLUMN record_terminals INTEGER NOT NULL DEFAULT 0;
