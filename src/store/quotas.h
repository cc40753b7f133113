/* SPDX-License-Identifier: Apache-2.0 */
/* store/quotas.h — quotas (sandbox/quota.h) and their use.
 *
 * The transaction that inserts or starts a sandbox checks amounts and counts creates, so a limit
 * holds for all servers of the store, and a refused sandbox leaves nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/quota.h"

struct arena;
struct sandbox_record;
struct store;

struct quota_record {
	const char *scope, *subject, *name;
	double value;
	int64_t window_at, used; /* of QUOTA_WINDOW: the minute of the last use, and its count */
	int64_t updated_at;
};
struct quota_list {
	struct quota_record *items;
	size_t count;
};
struct quota_subject {
	const char *scope, *subject;
};
struct quota_caller {
	const char *project_id, *key_id;
};

/* Writes `count` values of one subject; a value of 0 removes the quota. */
struct quota_change {
	struct quota_subject subject;
	const double *values; /* by enum quota_limit; negative = unchanged */
	int64_t now;
};
MUST_CHECK int store_quota_change(struct store *s, const struct quota_change *change,
                                  struct error *err);
MUST_CHECK int store_quota_list(struct store *s, struct arena *a,
                                const struct quota_subject *subject, struct quota_list *ret,
                                struct error *err);
MUST_CHECK int store_quota_use(struct store *s, const struct quota_subject *subject,
                               struct quota_use *ret, struct error *err);
/* The organisation of a project; its texts are in the arena. */
MUST_CHECK int store_quota_organization(struct store *s, struct arena *a, const char *project_id,
                                        struct quota_subject *ret, struct error *err);

/* Bytes that the sandboxes of a project, which one key made, have sent in the day that begins at
 * `day` (quota_day). usage.c adds to them. */
struct egress_day {
	const char *project_id, *key_id;
	int64_t day, bytes;
};
MUST_CHECK int store_quota_egress(struct store *s, const struct quota_subject *subject, int64_t day,
                                  int64_t *ret_bytes, struct error *err);
/* All quotas of this name. */
MUST_CHECK int store_quota_list_named(struct store *s, struct arena *a, enum quota_limit limit,
                                      struct quota_list *ret, struct error *err);

/* A started or paused sandbox, and why a quota cuts its network ("" = it does not). */
struct egress_cut_record {
	const char *id, *project_id, *key_id, *organization_id, *cut;
};
struct egress_cut_list {
	struct egress_cut_record *items;
	size_t count;
};
struct egress_cut_page {
	const char *node, *after; /* after: last id of the previous page; "" at first */
	int64_t cut_only, limit;  /* cut_only: 1 = only those that are cut */
};
/* Sorted by id. */
MUST_CHECK int store_egress_cut_list(struct store *s, struct arena *a,
                                     const struct egress_cut_page *page,
                                     struct egress_cut_list *ret, struct error *err);
struct sandbox_egress_cut {
	const char *id, *cut; /* cut: a reason, see sandbox/egress.h */
};
/* Cuts the sandbox's network ("": ends that). Adds an event of the sandbox. */
MUST_CHECK int store_sandbox_set_egress_cut(struct store *s, struct arena *a,
                                            const struct sandbox_egress_cut *change,
                                            struct sandbox_record *ret, struct error *err);
MUST_CHECK int store_egress_purge(struct store *s, int64_t before, struct error *err);
/* Whether a quota of this name exists. */
MUST_CHECK int store_quota_is_used(struct store *s, enum quota_limit limit, bool *ret,
                                   struct error *err);

/* A limit of requests; `holder` is the key or the project that it holds for. */
struct quota_rate {
	const char *scope, *subject, *holder;
	double value;
};
struct quota_rate_list {
	struct quota_rate *items;
	size_t count;
};
MUST_CHECK int store_quota_rates(struct store *s, struct arena *a, struct quota_rate_list *ret,
                                 struct error *err);
