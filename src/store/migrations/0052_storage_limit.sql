-- MiB that a project's templates, snapshots, backups and volumes may have in all. 0 = the platform's.
ALTER TABLE projects ADD COLUMN storage_max_mb INTEGER NOT NULL DEFAULT 0;
