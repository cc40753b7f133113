-- A snapshot tells whether it has a backup.
CREATE INDEX backups_by_snapshot ON backups (snapshot_id);
