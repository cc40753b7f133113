-- The run (header Atoll-Run) whose files the lease's sandbox has; '' = of no run.
ALTER TABLE leases ADD COLUMN run TEXT NOT NULL DEFAULT '';
