-- What a lease's sandbox is made like: JSON as fleet/lease_spec.h writes it, and the environment,
-- which is sealed, apart. '' = not known: a row of before, whose specification is taken from its
-- sandbox as soon as that one has gone.
ALTER TABLE leases ADD COLUMN spec_json TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN env_json TEXT NOT NULL DEFAULT '';
