/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/route.h — the providers that may make a sandbox, in the order in which they are
 * tried. Only providers that satisfy the request are among them: isolation, abilities, place in
 * their limits. Unhealthy providers come last. */
#pragma once

#include "provider/set.h"
#include "sandbox/sandbox.h"

struct arena;
struct fleet;
struct fleet_create;
struct operation;
struct resolved_create;
struct template_record;

struct provider_route {
	const struct provider_member *members[PROVIDER_MEMBERS_MAX];
	unsigned count, at; /* `at`: the one whose turn it is */
};
/* Whether the request's words about providers are valid: the provider is configured, the isolation
 * is a level. */
MUST_CHECK int provider_route_check(const struct fleet *f, const struct fleet_create *request,
                                    struct error *err);
/* Finds the providers for a request with its template. The error says for each provider why it
 * cannot make the sandbox. */
MUST_CHECK int provider_route_find(struct fleet *f, struct arena *a,
                                   const struct resolved_create *resolved,
                                   enum sandbox_network network, struct provider_route *ret,
                                   struct error *err);
struct provider *provider_route_current(const struct provider_route *route);
/* Makes the sandbox of the operation, in CREATING, by the first provider of its route that does
 * not fail. The row names the provider that made it. */
MUST_CHECK int provider_route_create(struct operation *op, const struct template_record *t,
                                     struct provider_created *ret, struct error *err);
