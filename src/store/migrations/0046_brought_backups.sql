-- What a file that was brought says of its snapshot is its maker's word.
ALTER TABLE backups ADD COLUMN is_brought INTEGER NOT NULL DEFAULT 0;
