-- A full backup has its template in it.
ALTER TABLE backups ADD COLUMN is_full INTEGER NOT NULL DEFAULT 0;
