-- Which server is at a delivery: should it die, its next start knows.
ALTER TABLE deliveries ADD COLUMN node TEXT NOT NULL DEFAULT '';
