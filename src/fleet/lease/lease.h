/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease/lease.h — leases: a key and its one warm sandbox.
 *
 * Of concurrent calls for a key, in all processes on the same store, the first creates the sandbox
 * and the others wait for it. If the creator dies, its claim is taken over after
 * LEASE_CREATING_MAX_MS by the next call or by fleet_lease_tick. A sandbox of a claim that was
 * taken over is deleted, by a sweep or by its late creator itself. */
#pragma once

#include "fleet/core/waiting.h"
#include "fleet/lifecycle/create.h"
#include "store/leases.h"
#include "store/sandbox_record.h"

struct fleet;
struct fleet_hold;
struct fleet_use;

#define LEASE_WAIT_MAX_MS 60000

/* How a request changes the specification that the lease keeps (fleet/lease/lease_spec.h). With
 * each of these, members that `make` does not give stay as kept. */
enum lease_terms {
	/* `make` counts only if the lease has no specification yet. */
	LEASE_TERMS_FIRST,
	/* `make` replaces kept members when a sandbox is created. An existing sandbox must agree
	 * with `make`: else ERROR_CONFLICT names what differs. */
	LEASE_TERMS_SAME,
	/* `make` replaces kept members, and a sandbox that differs. */
	LEASE_TERMS_UPDATE,
	/* `make` replaces kept members when a sandbox is created. */
	LEASE_TERMS_NEXT,
};
struct fleet_lease {
	const char *project_id, *key;
	/* The members of the specification that the caller gives, and its API key. Project, id and
	 * wait are ignored. */
	const struct fleet_create *make;
	bool names_persistent; /* make->persistent is given, even if false */
	enum lease_terms terms;
	const struct fleet_use *use; /* metered use, see fleet_ref */
	/* The sandbox must have unused files: an existing one is reset, or replaced if it cannot be
	 * reset or differs from `make`. */
	bool is_fresh;
	/* is_fresh unless the files belong to this run already. NULL: files of any run will do. */
	const char *run;
	/* Called before the call starts, creates or waits for a sandbox; its failure ends the call.
	 * NULL: allowed. */
	int (*may_wait)(void *context, struct error *err);
	void *context;
	int64_t wait_ms; /* for other callers, not for the build of a template; 0 = 30 s */
	bool parks;      /* see waiting.h */
	struct fleet_awaited awaited; /* with `parks` */
	int64_t sessions_max;         /* of a session: as in struct lease_record */
};
struct fleet_leased {
	struct lease_record lease;
	struct sandbox_record
	        sandbox; /* started; only id, provider and node if another server has it */
	bool created;    /* by this call */
	bool reset;      /* the sandbox got new files, by this call */
};
/* How long all sandboxes of the lease were active in total. For a sandbox of another server: up to
 * the last time that this server has metered it. */
int64_t fleet_lease_usage_ms(const struct fleet *f, const struct lease_record *r, int64_t now);
/* Finds, starts or creates the sandbox. ERROR_TIMEOUT if other callers do not finish in time. */
MUST_CHECK int fleet_lease_acquire(struct fleet *fleet, struct arena *a,
                                   const struct fleet_lease *request, struct fleet_leased *ret,
                                   struct error *err);

/* fleet_lease_acquire that holds the sandbox; refuses a sandbox of another server. */
MUST_CHECK int fleet_lease_hold(struct fleet *fleet, struct arena *a,
                                const struct fleet_lease *request, struct fleet_leased *ret,
                                struct fleet_hold *ret_hold, struct error *err);

/* Whether the failure happened because this sandbox of a lease is gone. Asks the provider. */
bool fleet_lease_is_gone(struct fleet *fleet, const char *sandbox_id, const struct error *why);
/* Runs a call in the sandbox of a lease. If it fails and the sandbox turns out to be gone, it runs
 * once more in the lease's next sandbox; other failures are returned. `run` may take the hold. */
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
/* Counts as activity; with for_ms > 0 also fleet_keep for its sandbox, until the release. */
MUST_CHECK int fleet_lease_keep(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                int64_t for_ms, struct lease_record *ret, struct error *err);
/* Ends the counted use; the sandbox stays. */
MUST_CHECK int fleet_lease_release(struct fleet *fleet, struct arena *a,
                                   const struct lease_ref *ref, struct lease_record *ret,
                                   struct error *err);
/* Releases the lease and pauses its sandbox; the next acquire, or any use of the sandbox, wakes it.
 */
MUST_CHECK int fleet_lease_pause(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                 struct lease_record *ret, struct error *err);
/* Deletes the lease and its sandbox. */
MUST_CHECK int fleet_lease_delete(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                                  struct error *err);
/* fleet_lease_delete_all deletes the leases of a project whose keys have this prefix ("" = all),
 * with their sandboxes; other servers delete theirs at their next tick. To delete those at once,
 * call fleet_lease_delete_ours first. If another reachable server has some, it deletes only the
 * sandboxes of this server, and fails with the name of that server; the caller asks it next. */
MUST_CHECK int fleet_lease_delete_ours(struct fleet *fleet, const struct lease_ref *prefix,
                                       struct error *err);
MUST_CHECK int fleet_lease_delete_all(struct fleet *fleet, const struct lease_ref *prefix,
                                      uint64_t *ret_count, struct error *err);
