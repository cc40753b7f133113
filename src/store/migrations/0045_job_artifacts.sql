-- Files that a background job is to leave behind, and by which job one was left. '' = none.
ALTER TABLE jobs ADD COLUMN keep_root TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN keep_folder TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN keep_user TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE artifacts ADD COLUMN job TEXT NOT NULL DEFAULT '';
CREATE INDEX artifacts_by_job ON artifacts (job) WHERE job <> '';
