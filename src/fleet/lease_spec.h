/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease_spec.h — the specification of a lease: what its sandbox is made like. Private to this
 * folder.
 *
 * The lease's row keeps it (spec_json; the environment apart, sealed), and every path that makes
 * the lease's sandbox again makes it from there. A member that no caller has given is not in it:
 * such a member is inherited anew each time. */
#pragma once

#include "fleet/lease.h"
#include "fleet/parts.h"

struct lease_spec {
	const char *template, *persistent_home, *persistent_home_path;
	const char *egress, *network; /* network rules, as struct sandbox_record has them */
	struct json_map labels, own_labels, env; /* the second as of struct fleet_create */
	struct sandbox_resources resources;      /* 0 = not given; the same for the durations */
	int64_t persistent_home_mb, idle_pause_ms, idle_stop_ms, idle_reap_ms, lifetime_max_ms;
	bool internet, persistent;
	bool preview_off; /* its sandbox was shown no longer */
	uint64_t present; /* of spec_shape's rows: says whether the two bools are given */
};

/* What the request gives; texts are borrowed. */
struct lease_spec lease_spec_given(const struct fleet_lease *request);
/* What the row keeps. ERROR_UNAVAILABLE when it cannot be unsealed. */
MUST_CHECK int lease_spec_read(struct arena *a, const struct lease_record *r,
                               struct lease_spec *ret, struct error *err);
/* The same, with the network rules that its sandbox got since. A row of before leases
 * had specifications: what its sandbox is like. */
MUST_CHECK int lease_spec_load(struct fleet *f, struct arena *a, const struct lease_record *r,
                               struct lease_spec *ret, struct error *err);
/* What the sandbox is made from: by the request's terms, from what is kept and what is given. */
struct lease_spec lease_spec_join(const struct fleet_lease *request, const struct lease_spec *kept);
/* The given members that differ from what is kept or, where nothing is kept, from the server's
 * default: "internet, env", or NULL. */
const char *lease_spec_differing(const struct fleet *f, struct arena *a,
                                 const struct lease_spec *kept, const struct lease_spec *given);
/* Into the row's texts. */
MUST_CHECK int lease_spec_store(struct arena *a, const struct lease_spec *spec,
                                struct lease_record *r, struct error *err);
/* Over the members of `make` that a specification has. */
void lease_spec_apply(const struct lease_spec *spec, struct fleet_create *make);
/* Before a row forgets its sandbox: takes over what only the sandbox's row knows. */
MUST_CHECK int lease_spec_update(struct fleet *f, struct arena *a, struct lease_record *r,
                                 struct error *err);
/* Nothing was given: the row need not be kept for it. */
bool lease_spec_is_empty(const struct lease_record *r);
