-- What is under way with a volume and a sandbox that runs: attached, attaching, detaching.
ALTER TABLE mounts ADD COLUMN state TEXT NOT NULL DEFAULT 'attached';
