/* SPDX-License-Identifier: Apache-2.0 */
/* provider/set.h — the providers of one server, by name, in the order of the configuration, then in
 * the order in which they were added.
 *
 * The first member is the primary: it keeps templates, snapshots, volumes and pools. A member whose
 * program did not answer yet has no provider until provider_set_retry opens it; calls on its
 * sandboxes fail meanwhile. Members may be added and leave while the server runs. A member that has
 * left keeps its number; its provider is closed when no call can use it any more. Any thread may
 * call; one thread at a time adds members and lets them leave. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "provider/provider.h"

struct arena;
struct provider_health;
struct provider_list;
struct provider_set;

#define PROVIDER_MEMBERS_MAX 64 /* those that have left count */

/* 0 = no limit. Money is in micro-dollars. */
struct provider_bounds {
	int64_t sandboxes_max;
	bool allows_weaker; /* a create may name it, though it isolates less than the first */
	int64_t price_hour; /* of a sandbox's active hour */
	int64_t cost_day_max, cost_month_max;
	int64_t create_timeout_ms, p99_max_ms;
};

struct provider_member {
	const char *name; /* the column `provider` of a sandbox */
	const char *kind;
	unsigned number;                /* its place in the set */
	_Atomic int64_t version;        /* of a stored provider's row; 0 = of the configuration */
	struct provider_health *health; /* see provider/health.h */
};

struct provider_entry_options {
	const char *name, *kind;
	struct provider_bounds limits;
	int64_t version;
};

struct provider_set *provider_set_new(void);
/* Closes the providers that the set has opened, after the last call on them. */
void provider_set_close(struct provider_set *set);
/* Closes it, too. */
void provider_set_free(struct provider_set *set);
/* Adds a member without opening it. What `options` points to must outlive the set. ERROR_INVALID
 * for an unknown kind, ERROR_CONFLICT for a name that a member has, ERROR_LIMIT for more than
 * PROVIDER_MEMBERS_MAX. */
MUST_CHECK int provider_set_add(struct provider_set *set,
                                const struct provider_entry_options *entry,
                                const struct provider_options *options, struct error *err);
/* Gives a stored member other limits and options, also while it is open. ERROR_UNSUPPORTED when its
 * kind cannot change these options. Only for the thread that adds members. */
MUST_CHECK int provider_set_change(struct provider_set *set,
                                   const struct provider_entry_options *entry,
                                   const struct provider_options *options, struct error *err);
/* Gives a member other limits. Only for the thread that adds members. */
void provider_set_bound(struct provider_set *set, const struct provider_member *m,
                        const struct provider_bounds *limits);
/* Those that hold now. */
struct provider_bounds provider_member_limits(const struct provider_member *m);
/* Lives as long as the set; for what members of the running server point to. Only for the thread
 * that adds members. */
struct arena *provider_set_arena(struct provider_set *set);
/* It has no sandboxes and gets none: it is not found by its name, opened or listed any more. */
void provider_member_leave(const struct provider_member *m);
bool provider_member_has_left(const struct provider_member *m);
/* From now on no create tries it. */
void provider_member_drain(const struct provider_member *m);
bool provider_member_drains(const struct provider_member *m);
/* What its sandboxes have cost, in micro-dollars, as noted last. */
void provider_member_note_cost(const struct provider_member *m, int64_t day, int64_t month);
int64_t provider_member_cost_day(const struct provider_member *m);
int64_t provider_member_cost_month(const struct provider_member *m);
/* Adds a provider that is open already; the caller closes it. */
void provider_set_lend(struct provider_set *set, const char *name, struct provider *p);
/* Opens a member that is not open. */
MUST_CHECK int provider_member_open(const struct provider_member *m, struct error *err);
/* Opens members that are not open, and closes those that left long ago; returns how many it opened.
 * One thread at a time. */
unsigned provider_set_retry(struct provider_set *set);
/* provider_ops.last_calls, or template_gone, of each open member. */
void provider_set_last_calls(struct provider_set *set);
void provider_set_template_gone(struct provider_set *set, const char *folder);

/* With those that have left. */
unsigned provider_set_count(const struct provider_set *set);
/* Whether creates have a choice. */
bool provider_set_has_several(const struct provider_set *set);
const struct provider_member *provider_set_at(const struct provider_set *set, unsigned number);
/* NULL: the configuration does not name it. */
const struct provider_member *provider_set_find(const struct provider_set *set, const char *name);
/* The member that `p` is of; NULL: none. */
const struct provider_member *provider_set_member_of(const struct provider_set *set,
                                                     const struct provider *p);
/* NULL: not open. */
struct provider *provider_member_provider(const struct provider_member *m);
/* The operations of its kind, also while it is not open. */
const struct provider_ops *provider_member_ops(const struct provider_member *m);
/* Lists what all members have, each sandbox once. A member that does not answer is noted as silent
 * and has nothing in the list; a silent primary is an error. */
MUST_CHECK int provider_set_list(const struct provider_set *set, struct arena *a,
                                 struct provider_list *ret, bool ret_silent[PROVIDER_MEMBERS_MAX],
                                 struct error *err);
/* Both list the same sandboxes and keep the same files; see provider_ops.place. */
bool provider_shares_place(const struct provider *a, const struct provider *b);
