-- Claims that may have to be taken over are looked for every second.
CREATE INDEX leases_creating ON leases (creating_since) WHERE status = 'creating';
