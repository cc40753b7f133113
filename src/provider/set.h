/* SPDX-License-Identifier: Apache-2.0 */
/* provider/set.h — the providers of one server, by name, in the order of the configuration.
 *
 * The first member is the primary: it keeps templates, snapshots, volumes and pools. The list of
 * members does not change after the start. A member whose program did not answer at the start has
 * no provider until provider_set_retry opens it; calls on its sandboxes fail meanwhile. Any thread
 * may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/provider.h"

struct arena;
struct provider_health;
struct provider_list;
struct provider_set;

#define PROVIDER_MEMBERS_MAX 16

struct provider_member {
	const char *name; /* the column `provider` of a sandbox */
	const char *kind;
	unsigned number;       /* its place in the set */
	int64_t sandboxes_max; /* 0 = no limit */
	bool allows_weaker;    /* a create may name it, though it isolates less than the first */
	struct provider_health *health; /* see provider/health.h */
};

struct provider_entry_options {
	const char *name, *kind;
	int64_t sandboxes_max;
	bool allows_weaker;
};

struct provider_set *provider_set_new(void);
/* Closes the providers that the set has opened, after the last call on them. */
void provider_set_close(struct provider_set *set);
/* Closes it, too. */
void provider_set_free(struct provider_set *set);
/* Adds a member without opening it. The texts must outlive the set. ERROR_INVALID for an unknown
 * kind, ERROR_LIMIT for more than PROVIDER_MEMBERS_MAX. */
MUST_CHECK int provider_set_add(struct provider_set *set,
                                const struct provider_entry_options *entry,
                                const struct provider_options *options, struct error *err);
/* Adds a provider that is open already; the caller closes it. */
void provider_set_lend(struct provider_set *set, const char *name, struct provider *p);
/* Opens a member that is not open. */
MUST_CHECK int provider_member_open(const struct provider_member *m, struct error *err);
/* Opens members that are not open; returns how many it opened. One thread at a time. */
unsigned provider_set_retry(struct provider_set *set);
/* provider_ops.last_calls, or template_gone, of each open member. */
void provider_set_last_calls(struct provider_set *set);
void provider_set_template_gone(struct provider_set *set, const char *folder);

unsigned provider_set_count(const struct provider_set *set);
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
