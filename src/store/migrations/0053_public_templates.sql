-- Whether other projects find the template by its id.
ALTER TABLE templates ADD COLUMN is_public INTEGER NOT NULL DEFAULT 0;
