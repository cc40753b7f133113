/* SPDX-License-Identifier: Apache-2.0 */
/* Daytona's network settings of a sandbox: no destination, some addresses and host names, or all.
 */
#include "surface/daytona/network.h"

#include <string.h>

#include "fleet/core/sandboxes.h"
#include "sandbox/egress.h"
#include "store/sandbox_record.h"
#include "surface/daytona/attached.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define ADDRESSES "networkAllowList"
#define DOMAINS "domainAllowList"

static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};

/* The allowed destinations of both lists. */
struct allowed_destinations {
	const char **items;
	size_t count;
};

/* Adds "10.0.0.0/8, 1.1.1.1" or "example.com, *.example.org": a list has entries of one kind. */
static int add_list(struct arena *a, const char *name, const char *list,
                    struct allowed_destinations *out, struct error *err)
{
	bool wants_names = strcmp(name, DOMAINS) == 0;
	struct span rest = span_of(list), one;

	for (bool more = list && *list; more;) {
		more = span_split(&rest, ',', &one);
		one = span_trim(one);
		if (one.size == 0)
			continue;
		if (out->count == SANDBOX_EGRESS_ALLOW_MAX)
			return FAIL(err, ERROR_LIMIT, "%s: more than %d entries", name,
			            SANDBOX_EGRESS_ALLOW_MAX);
		if (egress_name_is_valid(one) != wants_names) {
			(void)FAIL(err, ERROR_INVALID, "%s: '%.*s' is not %s", name,
			           one.size < 80 ? (int)one.size : 80, one.data,
			           wants_names ? "a host name" : "an address or range");
			error_hint(err,
			           "put addresses into " ADDRESSES " and host names into " DOMAINS);
			return -1;
		}
		out->items[out->count++] = arena_copy(a, one);
	}
	return 0;
}

int daytona_egress_format(struct arena *a, const struct daytona_network *network, const char **ret,
                          struct error *err)
{
	struct allowed_destinations allowed = {
	        ARENA_ARRAY(a, const char *, SANDBOX_EGRESS_ALLOW_MAX + 1), 0};
	const struct sandbox_egress lists = {allowed.items, everything, ADDRESSES, ADDRESSES};

	*ret = "";
	if (!network->block_all &&
	    (add_list(a, ADDRESSES, network->allow_list, &allowed, err) < 0 ||
	     add_list(a, DOMAINS, network->domain_list, &allowed, err) < 0))
		return -1;
	if (!network->block_all && allowed.count == 0)
		return 0;
	return sandbox_egress_format(a, &lists, ret, err);
}

bool daytona_network_is_blocked(const struct sandbox_record *r)
{
	return r->network == SANDBOX_NETWORK_BLOCKED || sandbox_egress_denies_all(r->egress);
}

static const char *join_allowed(struct arena *a, const struct sandbox_record *r, bool wants_names)
{
	struct sandbox_egress lists;
	struct error ignored = {0};
	const char *text = "";

	/* With the mode watch, the names only lead connections through the gateway. */
	if (sandbox_egress_parse(a, r->egress, &lists, &ignored) < 0 || lists.mode == EGRESS_WATCH)
		return "";
	for (size_t i = 0; lists.allow && lists.allow[i]; i++)
		if (egress_name_is_valid(span_of(lists.allow[i])) == wants_names)
			text = arena_format(a, "%s%s%s", text, *text ? "," : "", lists.allow[i]);
	return text;
}

const char *daytona_allow_list(struct arena *a, const struct sandbox_record *r)
{
	return join_allowed(a, r, false);
}

const char *daytona_domain_list(struct arena *a, const struct sandbox_record *r)
{
	return join_allowed(a, r, true);
}

struct daytona_network_body {
	bool block_all;
	const char *allow_list, *domain_list;
	uint64_t present;
};
enum { NETWORK_BLOCK_ALL, NETWORK_ALLOW_LIST, NETWORK_DOMAIN_LIST };
static const struct json_member network_request_members[] = {
        [NETWORK_BLOCK_ALL] = JSON_BOOL_MEMBER(daytona_network_body, block_all,
                                               .name = "networkBlockAll", .flags = JSON_NULLABLE),
        [NETWORK_ALLOW_LIST] = JSON_TEXT_MEMBER(daytona_network_body, allow_list, .name = ADDRESSES,
                                                .max = 8192, .flags = JSON_NULLABLE),
        [NETWORK_DOMAIN_LIST] =
                JSON_TEXT_MEMBER(daytona_network_body, domain_list, .name = DOMAINS,
                                 .max = SANDBOX_EGRESS_TEXT_MAX, .flags = JSON_NULLABLE),
};
static JSON_OPEN_BITS_SHAPE(network_request, "DaytonaNetwork", daytona_network_body, NULL);

/* A request for the current setting succeeds for every sandbox. */
static int set_network(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct daytona_network_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct daytona_network wanted = {b->block_all, b->allow_list, b->domain_list};
	bool gives_list = (b->present >> NETWORK_ALLOW_LIST & 1 && b->allow_list) ||
	                  (b->present >> NETWORK_DOMAIN_LIST & 1 && b->domain_list);
	struct sandbox_record r;
	const char *egress;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    daytona_egress_format(rq->arena, &wanted, &egress, err) < 0)
		return -1;
	if (!gives_list && (!(b->present >> NETWORK_BLOCK_ALL & 1) ||
	                    b->block_all == daytona_network_is_blocked(&r)))
		return daytona_sandbox_reply(rq, reply, &r, err);
	if (r.network == SANDBOX_NETWORK_BLOCKED && !b->block_all)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "sandbox '%s' was made without a network and cannot get one later",
		            r.name);
	if (daytona_egress_set(rq, &ref, egress, &r, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &r, err);
}

const struct route daytona_network_routes[] = {
        {HTTP_POST, SANDBOX "/network-settings", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &network_request, .handle = set_network, .tag = "daytona",
         .summary = "Set the destinations that a sandbox may reach"},
        {.path = NULL},
};
