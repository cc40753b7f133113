/* SPDX-License-Identifier: Apache-2.0 */
/* store/leases.h — the one warm sandbox of a key, and which sandboxes were begun for leases. Part
 * of the store's contract, see store.h.
 *
 * A row changes only by compare and set on lock_version, or, to say that the sandbox it names is
 * made, by that sandbox's id. Changes are lazy: what a lease points to comes to the disk with the
 * row that names it, and is waited for, if it is to last, by who makes it. */
#pragma once

#include "sandbox/lease.h"
#include "store/store.h"

struct lease_record {
	const char *project_id, *key;
	const char *sandbox_id; /* "" = none */
	enum lease_status status;
	int64_t lock_version, epoch;
	int64_t creating_since, created_at, last_activity_at;
	int64_t usage_ms;     /* that its sandboxes before this one were active */
	int64_t active_since; /* in use; 0 = not */
	const char *run;      /* whose files it has, the last that got new ones; "" = nobody's */
	/* What its sandbox is made like, see fleet/lease_spec.h; "" = not known. The environment is
	 * sealed where it rests, as of `name`, which is "PROJECT/KEY". */
	const char *spec_json, *env_json, *name;
	/* Only to claim the lease of a session: ERROR_LIMIT when the project would have more that
	 * have a sandbox. 0 = any number. */
	int64_t sessions_max;
	bool is_release, is_reset; /* only to replace it: what is to be told of that */
	/* Of its sandbox, as it is now; only read. DELETED and "" when it has no row. */
	enum sandbox_state actual;
	const char *provider, *node;
	int64_t sandbox_activity_at, keep_until; /* not idle before */
	int64_t active_changed_at, active_ms;    /* as of sandbox_record */
	int64_t metered_ms;                      /* of all that it was active, so much is metered */
};
struct lease_list {
	struct lease_record *items;
	size_t count;
	const char *next; /* `after` of the next page; NULL at the end */
};
struct lease_ref {
	const char *project_id, *key;
};
struct lease_filter {
	const char *project_id, *prefix; /* prefix "" = any */
	const char *after;               /* key; "" = from the first */
	unsigned limit;                  /* 1..1000 */
};

MUST_CHECK int store_lease_find(struct store *s, struct arena *a, const struct lease_ref *ref,
                                struct lease_record *ret, struct error *err);
MUST_CHECK int store_lease_list(struct store *s, struct arena *a, const struct lease_filter *filter,
                                struct lease_list *ret, struct error *err);
/* A new row, in CREATING; its lock_version and epoch become 1. ERROR_CONFLICT when the key has
 * one. */
MUST_CHECK int store_lease_insert(struct store *s, const struct lease_record *r, struct error *err);
/* Writes all of the row that is the lease's own, if its lock_version still is r->lock_version,
 * which it then increments; else ERROR_CONFLICT. A row that becomes CREATING begins another
 * sandbox. */
MUST_CHECK int store_lease_replace(struct store *s, const struct lease_record *r,
                                   struct error *err);
/* r->sandbox_id is made: ERROR_CONFLICT when the lease names another one by now. */
MUST_CHECK int store_lease_finish(struct store *s, const struct lease_record *r, struct error *err);
/* Compare and set on r->lock_version. */
MUST_CHECK int store_lease_remove(struct store *s, const struct lease_record *r, struct error *err);
/* At most 1000 that somebody has to look after: claimed before `before`, or claimed by one who has
 * not said how it went, or ready without a sandbox. */
MUST_CHECK int store_lease_unsound(struct store *s, struct arena *a, int64_t before,
                                   struct lease_list *ret, struct error *err);
/* Of these only the claims that are so old: a look into an index. */
MUST_CHECK int store_lease_overdue(struct store *s, struct arena *a, int64_t before,
                                   struct lease_list *ret, struct error *err);
/* Drops empty ones that were last used before `before`. */
MUST_CHECK int store_lease_purge(struct store *s, int64_t before, struct error *err);

/* A sandbox that was begun for a lease which does not point to it. */
struct lease_stray {
	const char *sandbox_id, *project_id, *provider, *node;
	enum sandbox_state actual; /* PENDING when it has no row (yet) */
	int64_t claimed_at;
};
struct lease_stray_list {
	struct lease_stray *items;
	size_t count;
};
MUST_CHECK int store_lease_strays(struct store *s, struct arena *a, struct lease_stray_list *ret,
                                  struct error *err);
MUST_CHECK int store_lease_stray_forget(struct store *s, const char *sandbox_id, struct error *err);
