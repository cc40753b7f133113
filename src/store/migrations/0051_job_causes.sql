-- Why a job has ended: a word of wire/agent_cause.h, sandbox_ended, lost, or '' while it runs and in rows of before.
ALTER TABLE jobs ADD COLUMN cause TEXT NOT NULL DEFAULT '';
