-- Whether the end of a consent by its time was told as an event.
ALTER TABLE consents ADD COLUMN is_told INTEGER NOT NULL DEFAULT 0;
UPDATE consents SET is_told = 1;
CREATE INDEX consents_to_expire ON consents (expires_at) WHERE is_told = 0 AND expires_at > 0;
