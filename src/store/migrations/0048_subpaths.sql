-- The folder of a volume that a sandbox sees; empty: all of it.
ALTER TABLE mounts ADD COLUMN subpath TEXT NOT NULL DEFAULT '';
