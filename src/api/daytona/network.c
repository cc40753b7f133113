/* SPDX-License-Identifier: Apache-2.0 */
/* What Daytona's clients say of a sandbox's network: nobody, some addresses, or all. */
#include "api/daytona/network.h"

#include <string.h>

#include "api/daytona/daytona.h"
#include "api/tables.h"
#include "fleet/egress.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define LIST_NAME "networkAllowList"

static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};

/* "10.0.0.0/8, 1.1.1.1": NULL-terminated. */
static int split(struct arena *a, const char *list, const char *const **ret, struct error *err)
{
	const char **items = ARENA_ARRAY(a, const char *, SANDBOX_EGRESS_MAX + 1);
	struct span rest = span_of(list), one;
	size_t count = 0;

	for (bool more = true; more;) {
		more = span_split(&rest, ',', &one);
		one = span_trim(one);
		if (one.size == 0)
			continue;
		if (count == SANDBOX_EGRESS_MAX)
			return FAIL(err, ERROR_LIMIT, LIST_NAME ": more than %d addresses",
			            SANDBOX_EGRESS_MAX);
		items[count++] = arena_copy(a, one);
	}
	items[count] = NULL;
	*ret = items;
	return 0;
}

int daytona_egress(struct arena *a, const struct daytona_network *network, const char **ret,
                   struct error *err)
{
	struct sandbox_egress lists = {.allow_name = LIST_NAME, .deny_name = LIST_NAME};

	*ret = "";
	if (!network->block_all && split(a, network->allow_list, &lists.allow, err) < 0)
		return -1;
	if (!network->block_all && !lists.allow[0])
		return 0;
	lists.deny = everything;
	return sandbox_egress_format(a, &lists, ret, err);
}

bool daytona_is_blocked(const struct sandbox_record *r)
{
	return r->network == SANDBOX_NETWORK_BLOCKED || sandbox_egress_denies_all(r->egress);
}

const char *daytona_allow_list(struct arena *a, const struct sandbox_record *r)
{
	struct sandbox_egress lists;
	struct error ignored = {0};
	const char *text = "";

	if (sandbox_egress_parse(a, r->egress, &lists, &ignored) < 0)
		return "";
	for (size_t i = 0; lists.allow && lists.allow[i]; i++)
		text = arena_format(a, "%s%s%s", text, i > 0 ? "," : "", lists.allow[i]);
	return text;
}

struct network_body {
	bool block_all;
	const char *allow_list, *domain_list;
	uint64_t present;
};
enum { NETWORK_BLOCK_ALL, NETWORK_ALLOW_LIST };
static const struct json_member network_request_members[] = {
        [NETWORK_BLOCK_ALL] = JSON_BOOL_MEMBER(network_body, block_all, .name = "networkBlockAll",
                                               .flags = JSON_NULLABLE),
        [NETWORK_ALLOW_LIST] = JSON_TEXT_MEMBER(network_body, allow_list, .name = LIST_NAME,
                                                .max = 8192, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(network_body, domain_list, .name = "domainAllowList",
                         .flags = JSON_NULLABLE),
        JSON_END,
};
static const struct json_shape network_request = {
        .name = "DaytonaNetwork",
        .size = sizeof(struct network_body),
        .members = network_request_members,
        .present_offset = offsetof(struct network_body, present),
        .is_open = true,
};

/* What is so already may be asked for of any sandbox. */
static int set_network(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct network_body *b = body;
	const struct fleet_ref ref = daytona_ref(rq);
	const struct daytona_network wanted = {b->block_all, b->allow_list ? b->allow_list : ""};
	bool says_list = b->present >> NETWORK_ALLOW_LIST & 1 && b->allow_list;
	struct sandbox_record r;
	const char *egress;

	if (b->domain_list && b->domain_list[0])
		return daytona_refuse("domainAllowList", err);
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    daytona_egress(rq->arena, &wanted, &egress, err) < 0)
		return -1;
	if (!says_list &&
	    (!(b->present >> NETWORK_BLOCK_ALL & 1) || b->block_all == daytona_is_blocked(&r)))
		return daytona_sandbox_reply(rq, reply, &r, err);
	if (r.network == SANDBOX_NETWORK_BLOCKED && !b->block_all)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "sandbox '%s' was made without a network: it cannot be given one",
		            r.name);
	if (fleet_set_egress(api_of(rq)->fleet, rq->arena, &ref, egress, &r, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &r, err);
}

const struct route daytona_network_routes[] = {
        {HTTP_POST, SANDBOX "/network-settings", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &network_request, .handle = set_network, .tag = "daytona",
         .summary = "Whom it may reach"},
        {.path = NULL},
};
