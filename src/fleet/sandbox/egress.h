/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/egress.h — which addresses a sandbox may reach. sandbox/egress.h turns the rules
 * into a text. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fleet/core/sandboxes.h"

struct arena;
struct error;
struct fleet;
struct operation;
struct sandbox_record;

/* Replaces all rules; "" = none. They apply at once to a started or paused sandbox, its open
 * connections included, and otherwise from the next start. A sandbox without a network accepts only
 * rules that deny everything. */
MUST_CHECK int fleet_set_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                const char *egress, struct sandbox_record *ret, struct error *err);

/* Allows one more address, range or host name, as fleet_set_egress does. Does nothing when the
 * rules allow it already. */
MUST_CHECK int fleet_allow_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                  const char *entry, struct sandbox_record *ret, struct error *err);

/* The hosts (NULL-terminated, also "*.NAME") whose TLS ends at the credential proxy;
 * fleet_set_egress keeps them. Open connections to a host that becomes one of them, or ceases to
 * be, are ended. */
MUST_CHECK int fleet_set_decrypted(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, const char *const *hosts,
                                   struct sandbox_record *ret, struct error *err);

/* Replaces network rules, with their marks, and rules of credentials at once. */
struct fleet_rules {
	const char *egress, *rules_json;
};
MUST_CHECK int fleet_set_rules(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                               const struct fleet_rules *rules, struct sandbox_record *ret,
                               struct error *err);

/* What would be decided on a connection of the sandbox: by its rules, by a quota that cuts its
 * network, and by the source address of its project, which only its own server can look for. */
struct egress_target {
	const char *host;
	uint16_t port;
};
struct network_decision;
MUST_CHECK int egress_predict(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                              const struct egress_target *target, struct network_decision *ret,
                              struct error *err);

/* Gives the provider the rules of the row again: after a restart the provider may hold those of a
 * change that was interrupted. */
MUST_CHECK int egress_reconcile(struct operation *op, struct error *err);
/* Refuses what ends the sandbox and starts it again while a quota cuts its network: the quota would
 * refuse the start. `what`: "reset". */
MUST_CHECK int egress_refuse_cut(const struct operation *op, const char *what, struct error *err);
/* A worker gives the provider the rules of all sandboxes, also of those without any, soon after
 * this returns: the source address of a project has changed, or the provider failed. */
void egress_repeat_all(struct fleet *f);
/* Notices source addresses that another server of the store has changed. The thread of fleet_tick,
 * before egress_repeat_rules. */
void egress_find_sources(struct fleet *f);
/* Gives the provider the rules of all sandboxes, if it has forgotten them. Any worker. */
void egress_repeat_rules(struct fleet *f);
