-- The conversation of the calls that used the sandbox; '' = none. A budget may be for one, for a run
-- and for a label, too.
ALTER TABLE usage_log ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
DROP INDEX usage_log_by_place;
CREATE UNIQUE INDEX usage_log_by_place
	ON usage_log (sandbox_id, hour, reason, key_id, run, conversation);
-- A spending looks at all budgets of its project.
DROP INDEX budgets_by_subject;
CREATE INDEX budgets_by_project ON budgets (project_id);
