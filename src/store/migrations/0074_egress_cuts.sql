-- Why a quota of sent bytes cuts a sandbox's network, as the first word of its rules has it
-- (sandbox/egress.h); '' = it does not. The sandbox's own rules stay in `egress`.
ALTER TABLE sandboxes ADD COLUMN egress_cut TEXT NOT NULL DEFAULT '';
CREATE INDEX sandboxes_cut ON sandboxes (node) WHERE egress_cut <> '';
