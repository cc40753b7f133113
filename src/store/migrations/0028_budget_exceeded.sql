-- The window for which it was told that all is spent; -1 = none.
ALTER TABLE budgets ADD COLUMN exceeded_at INTEGER NOT NULL DEFAULT -1;
