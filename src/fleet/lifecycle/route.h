/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/route.h — the providers that may make a sandbox, in the order in which they are
 * tried. Only providers that satisfy the request are among them: isolation, abilities, place in
 * their limits. Unhealthy and slow providers come last.
 *
 * The request, its template and its project, in this order, may name a provider and the least
 * isolation. If none names a provider, the first routing rule that matches lists the providers;
 * else all are tried in the order of the configuration. */
#pragma once

#include "provider/set.h"
#include "sandbox/sandbox.h"

struct arena;
struct fleet;
struct fleet_create;
struct operation;
struct project_record;
struct resolved_create;
struct template_record;

#define ROUTE_WHY_SIZE 400

struct provider_route {
	const struct provider_member *members[PROVIDER_MEMBERS_MAX];
	unsigned count, at;       /* `at`: the one whose turn it is */
	char why[ROUTE_WHY_SIZE]; /* why the first one is the first; "" = there is no choice */
};
/* What decides besides the request and its template. */
struct route_subject {
	enum sandbox_network network;
	struct sandbox_resources resources;
	const struct project_record *project;
};
/* Whether the request's words about providers are valid: the provider is configured, the isolation
 * is a level. */
MUST_CHECK int provider_route_check(const struct fleet *f, const struct fleet_create *request,
                                    struct error *err);
/* Finds the providers for a request with its template. The error says for each provider why it
 * cannot make the sandbox. */
MUST_CHECK int provider_route_find(struct fleet *f, struct arena *a,
                                   const struct resolved_create *resolved,
                                   const struct route_subject *subject, struct provider_route *ret,
                                   struct error *err);
struct provider *provider_route_current(const struct provider_route *route);
/* Makes the sandbox of the operation, in CREATING, by the first provider of its route that does
 * not fail. The row names the provider that made it. */
MUST_CHECK int provider_route_create(struct operation *op, const struct template_record *t,
                                     struct provider_created *ret, struct error *err);
