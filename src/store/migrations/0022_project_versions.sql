-- Grows with every change of what a project gives its sandboxes: who keeps a copy of the row is told by
-- the count that he would take a place in another one.
ALTER TABLE projects ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
