/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease.h — leases: the one warm sandbox of a key. Part of the fleet's contract, see fleet.h.
 *
 * Of all who want a key's sandbox at once, in this process or in others on the same store, one
 * makes it and the others wait for that one. Who dies on the way leaves nothing: his claim is taken
 * over after LEASE_CREATING_MAX_MS, by the next who asks or by fleet_lease_tick, which only asks
 * the store; and a sandbox that he had begun is deleted by whoever sees it, be it himself, coming
 * late.
 */
#pragma once

#include "fleet/waiting.h"
#include "store/leases.h"

#define LEASE_WAIT_MAX_MS 60000
/* Of the sandbox of a lease: its key. */
#define LEASE_LABEL "atoll.lease"

/* What becomes of the specification that a lease has (fleet/lease_spec.h). What `make` does not
 * give stays as it is kept, with any. */
enum lease_terms {
	/* `make` is for a lease that has none yet; else what is kept holds. */
	LEASE_TERMS_FIRST,
	/* What `make` gives replaces what is kept when a sandbox is made; for the sandbox that is
	 * there it must be the same: ERROR_CONFLICT names what differs. */
	LEASE_TERMS_SAME,
	/* What `make` gives replaces what is kept, and a sandbox that was made otherwise. */
	LEASE_TERMS_UPDATE,
	/* What `make` gives replaces what is kept when a sandbox is made. */
	LEASE_TERMS_NEXT,
};
struct fleet_lease {
	const char *project_id, *key;
	/* What the caller gives of the specification, and whose key makes it; not project, id and
	 * wait. */
	const struct fleet_create *make;
	bool names_persistent; /* make->persistent is given, though it be false */
	enum lease_terms terms;
	const struct fleet_use *use; /* what it is for, see fleet_ref */
	/* Wants one with files that nobody has used: the one that is there is reset, or replaced
	 * when it cannot be or when it is not what `make` would make. */
	bool is_fresh;
	/* Whose files they are to be: the same as is_fresh, but while they are this run's already.
	 * NULL: whoever's they are. */
	const char *run;
	/* Asked before it starts, makes or waits for one; it fails when this does. NULL = it may.
	 */
	int (*may_wait)(void *context, struct error *err);
	void *context;
	int64_t wait_ms; /* for others who are at it; 0 = 30 s. Building a template is not limited
	                  */
	bool parks;      /* see waiting.h */
	struct fleet_awaited awaited; /* with it */
	int64_t sessions_max;         /* of a session: as of struct lease_record */
};
struct fleet_leased {
	struct lease_record lease;
	struct sandbox_record sandbox; /* started; of another server's only id, provider and node */
	bool created;                  /* by this call */
	bool reset;                    /* the same one with new files, by this call */
};
/* How long its sandboxes were active, all of them: what is metered. Of one that another server has,
 * as far as that one has metered it, which is when it was last known to run. */
int64_t fleet_lease_usage_ms(const struct fleet *f, const struct lease_record *r, int64_t now);
/* Finds, starts or makes it. ERROR_TIMEOUT when others do not come to an end. */
MUST_CHECK int fleet_lease_acquire(struct fleet *fleet, struct arena *a,
                                   const struct fleet_lease *request, struct fleet_leased *ret,
                                   struct error *err);

/* The same, and the sandbox is held; one of another server's is refused. */
MUST_CHECK int fleet_lease_hold(struct fleet *fleet, struct arena *a,
                                const struct fleet_lease *request, struct fleet_leased *ret,
                                struct fleet_hold *ret_hold, struct error *err);

/* Whether what failed did so because this sandbox, a lease's, is gone. Asks the provider. */
bool fleet_lease_is_gone(struct fleet *fleet, const char *sandbox_id, const struct error *why);
/* What is done in the sandbox of a lease. When it fails and the sandbox turns out to be gone, it is
 * done once more, in the lease's next one; every other failure is the answer. `run` may take the
 * hold. */
struct fleet_lease_use {
	int (*run)(void *context, const struct sandbox_record *r, struct fleet_hold *hold,
	           struct error *err);
	void *context;
};
MUST_CHECK int fleet_lease_with(struct fleet *fleet, struct arena *a,
                                const struct fleet_lease *request,
                                const struct fleet_lease_use *use, struct error *err);

MUST_CHECK int fleet_lease_find(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                struct lease_record *ret, struct error *err);
/* A sign of use; and with for_ms > 0, fleet_keep for its sandbox, until it is released. */
MUST_CHECK int fleet_lease_keep(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                int64_t for_ms, struct lease_record *ret, struct error *err);
/* Not in use any more, which ends what is counted; its sandbox stays. */
MUST_CHECK int fleet_lease_release(struct fleet *fleet, struct arena *a,
                                   const struct lease_ref *ref, struct lease_record *ret,
                                   struct error *err);
/* The same, and its sandbox is paused: the next acquire, or any use of the sandbox, wakes it. */
MUST_CHECK int fleet_lease_pause(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                 struct lease_record *ret, struct error *err);
/* With its sandbox. */
MUST_CHECK int fleet_lease_delete(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                  struct error *err);
/* All of a project whose keys begin so ("" = all), with their sandboxes: those that other servers
 * have go at these servers' next tick. To have them go at once, call fleet_lease_delete_ours
 * before: it fails, naming a server that can be asked for the rest, when one has any of them, and
 * then has deleted this one's sandboxes, and no lease. */
MUST_CHECK int fleet_lease_delete_ours(struct fleet *fleet, const struct lease_ref *prefix,
                                       struct error *err);
MUST_CHECK int fleet_lease_delete_all(struct fleet *fleet, const struct lease_ref *prefix,
                                      uint64_t *ret_count, struct error *err);
