-- How a job has ended whose files are still fetched; 'running' = nobody has told. And when its process began.
ALTER TABLE jobs ADD COLUMN told TEXT NOT NULL DEFAULT 'running';
ALTER TABLE jobs ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
