/* SPDX-License-Identifier: Apache-2.0 */
/* store/leases.h — leases: the warm sandbox of a key, and the sandboxes that were started for
 * leases.
 *
 * A row changes only by compare and set on lock_version, or, to record that its sandbox is made, on
 * the sandbox's id. Changes are lazy: they reach the disk with the row of the sandbox; its maker
 * waits for that when the lease must be durable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/lease.h"

struct store;

struct lease_record {
	const char *project_id, *key;
	const char *sandbox_id; /* "" = none */
	enum lease_status status;
	int64_t lock_version, epoch;
	int64_t creating_since, created_at, last_activity_at;
	int64_t usage_ms;     /* active time of its earlier sandboxes */
	int64_t active_since; /* in use since; 0 = not in use */
	const char *run;      /* the run whose files it holds, the latest; "" = none */
	/* Specification of its sandbox, see fleet/lease/lease_spec.h; "" = unknown. The environment
	 * is stored encrypted, bound to `name`, which is "PROJECT/KEY". */
	const char *spec_json, *env_json, *name;
	/* Only to claim a session's lease: ERROR_LIMIT when the project would have more sessions
	 * with a sandbox. 0 = no limit. */
	int64_t sessions_max;
	bool is_release, is_reset; /* only to replace it: the event to add */
	/* Current state of its sandbox; read-only. DELETED and "" without a row. */
	enum sandbox_state actual;
	const char *provider, *node;
	int64_t sandbox_activity_at, keep_until; /* keep_until: not idle before */
	int64_t active_changed_at, active_ms;    /* as in sandbox_record */
	int64_t metered_ms;                      /* metered part of the active time */
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
	const char *after;               /* last key of the previous page; "" at first */
	unsigned limit;                  /* 1..1000 */
};

MUST_CHECK int store_lease_find(struct store *s, struct arena *a, const struct lease_ref *ref,
                                struct lease_record *ret, struct error *err);
MUST_CHECK int store_lease_list(struct store *s, struct arena *a, const struct lease_filter *filter,
                                struct lease_list *ret, struct error *err);
/* Inserts a row in CREATING with lock_version and epoch 1. ERROR_CONFLICT when the key has a
 * row. */
MUST_CHECK int store_lease_insert(struct store *s, const struct lease_record *r, struct error *err);
/* Writes the lease's own members if lock_version of the row is r->lock_version, which is then
 * incremented; else ERROR_CONFLICT. A row that becomes CREATING starts another sandbox. */
MUST_CHECK int store_lease_replace(struct store *s, const struct lease_record *r,
                                   struct error *err);
/* Records that r->sandbox_id is made. ERROR_CONFLICT when the lease names another sandbox by
 * now. */
MUST_CHECK int store_lease_finish(struct store *s, const struct lease_record *r, struct error *err);
/* Compare and set on r->lock_version. */
MUST_CHECK int store_lease_remove(struct store *s, const struct lease_record *r, struct error *err);
/* At most 1000 leases that need repair: claimed before `before`, claimed by a server that did not
 * finish, or ready without a sandbox. */
MUST_CHECK int store_lease_unsound(struct store *s, struct arena *a, int64_t before,
                                   struct lease_list *ret, struct error *err);
/* Only the claims older than `before`; a cheap index lookup. */
MUST_CHECK int store_lease_overdue(struct store *s, struct arena *a, int64_t before,
                                   struct lease_list *ret, struct error *err);
/* Drops leases without a sandbox that were last used before `before`. */
MUST_CHECK int store_lease_purge(struct store *s, int64_t before, struct error *err);

/* A sandbox that was started for a lease that does not point to it. */
struct lease_stray {
	const char *sandbox_id, *project_id, *provider, *node;
	enum sandbox_state actual; /* PENDING without a row (yet) */
	int64_t claimed_at;
};
struct lease_stray_list {
	struct lease_stray *items;
	size_t count;
};
MUST_CHECK int store_lease_strays(struct store *s, struct arena *a, struct lease_stray_list *ret,
                                  struct error *err);
MUST_CHECK int store_lease_stray_forget(struct store *s, const char *sandbox_id, struct error *err);
