-- Metering. A sandbox's active time is kept by the moves of its row (sandbox_move); metered_ms of it
-- is in usage_log. Money: micro-dollars; unbilled_nano is what is left below one.
ALTER TABLE sandboxes ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sandboxes ADD COLUMN active_changed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN active_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN metered_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN metered_cpu_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN unbilled_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN stored_mib INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN stored_at INTEGER NOT NULL DEFAULT 0;
UPDATE sandboxes SET active_changed_at = started_at WHERE actual = 'started';
-- Those that the meter has to look at.
CREATE INDEX sandboxes_metered ON sandboxes (id)
	WHERE actual = 'started' OR active_ms > metered_ms;

-- One row per sandbox, hour of UTC, key, run and reason. It outlives its sandbox.
CREATE TABLE usage_log (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	run TEXT NOT NULL,
	reason TEXT NOT NULL,
	hour INTEGER NOT NULL,
	active_ms INTEGER NOT NULL,
	cpu_us INTEGER NOT NULL,
	storage_mib_s INTEGER NOT NULL,
	usd_micro INTEGER NOT NULL,
	vcpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX usage_log_by_place ON usage_log (sandbox_id, hour, reason, key_id, run);
CREATE INDEX usage_log_by_project ON usage_log (project_id, hour);
CREATE INDEX usage_log_by_hour ON usage_log (hour);

-- What was paid and spent outlives its project.
CREATE TABLE balances (
	project_id TEXT NOT NULL PRIMARY KEY,
	deposited_micro INTEGER NOT NULL,
	spent_micro INTEGER NOT NULL
) STRICT;

-- The id is the depositor's: the same deposit is booked once.
CREATE TABLE deposits (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	usd_micro INTEGER NOT NULL,
	note TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, id)
) STRICT;

-- spent_micro is that of the window which began at window_at; warned_at: of the window whose
-- warning has been given, -1 = none.
CREATE TABLE budgets (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	scope TEXT NOT NULL,
	subject TEXT NOT NULL,
	span TEXT NOT NULL,
	limit_micro INTEGER NOT NULL,
	warn_percent INTEGER NOT NULL,
	spent_micro INTEGER NOT NULL,
	window_at INTEGER NOT NULL,
	warned_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX budgets_by_subject ON budgets (subject);
