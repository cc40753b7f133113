-- Where the turn of a tool call came from, as JSON; '' = not told.
ALTER TABLE approvals ADD COLUMN origin_json TEXT NOT NULL DEFAULT '';
