/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease/lease_spec.h — the specification of a lease: the settings that its sandbox is created
 * with.
 *
 * The row of the lease keeps it (spec_json; the environment apart, sealed), and every path that
 * creates the sandbox again reads it from there. A member that no caller has given is not in it; it
 * is inherited anew each time. */
#pragma once

#include "fleet/lifecycle/create.h"
#include "json/json.h"

struct fleet;
struct fleet_lease;
struct lease_record;

/* Every member of a create request is in it, but its name. */
struct lease_spec {
	struct fleet_create make; /* the members of the table in lease_spec.c; no others */
	const char *pull;         /* name of make.pull; NULL: missing */
	struct json_list mounts;  /* of struct fleet_mount; present: given */
	bool internet, persistent;
	uint64_t present; /* of the rows of spec_shape: whether the two bools are given */
};

/* The specification of a request; texts are borrowed. */
struct lease_spec lease_spec_given(const struct fleet_lease *request);
/* The specification of the row. ERROR_UNAVAILABLE if it cannot be unsealed. */
MUST_CHECK int lease_spec_read(struct arena *a, const struct lease_record *r,
                               struct lease_spec *ret, struct error *err);
/* lease_spec_read with the network rules that the sandbox got since. For a row that is older than
 * specifications: the settings of its sandbox. */
MUST_CHECK int lease_spec_load(struct fleet *f, struct arena *a, const struct lease_record *r,
                               struct lease_spec *ret, struct error *err);
/* The specification to create from: kept and given members, joined by the request's terms. */
struct lease_spec lease_spec_join(const struct fleet_lease *request, const struct lease_spec *kept);
/* The given members that differ from the kept ones or, where none is kept, from the server's
 * default: "internet, env"; NULL: none differs. */
const char *lease_spec_differing(const struct fleet *f, struct arena *a,
                                 const struct lease_spec *kept, const struct lease_spec *given);
/* Writes it into the texts of the row. */
MUST_CHECK int lease_spec_store(struct arena *a, const struct lease_spec *spec,
                                struct lease_record *r, struct error *err);
/* Sets the members of `make` that a specification has. */
void lease_spec_apply(const struct lease_spec *spec, struct fleet_create *make);
/* Call it before a row forgets its sandbox: copies what only the row of the sandbox knows. */
MUST_CHECK int lease_spec_update(struct fleet *f, struct arena *a, struct lease_record *r,
                                 struct error *err);
/* Nothing was given: the row need not be kept for it. */
bool lease_spec_is_empty(const struct lease_record *r);
