/* SPDX-License-Identifier: Apache-2.0 */
/* E2B's network settings of a sandbox: the destinations that it may reach, by address and by host
 * name. Proxies and TLS on the sandbox's ports are refused; rules.c has the rules for requests. */
#include "json/json.h"
#include "sandbox/egress.h"
#include "store/sandbox_record.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/rules.h"

#define DESTINATIONS_MAX SANDBOX_EGRESS_ALLOW_MAX
#define SHOWN_RULES_MAX ((size_t)128 * 1024)

enum network_row {
	NETWORK_ALLOW_OUT,
	NETWORK_DENY_OUT,
	NETWORK_MASK,
	NETWORK_PROXY,
	NETWORK_RULES,
	NETWORK_PORTS,
	NETWORK_PUBLIC,
	NETWORK_INTERNET,
};
static const struct json_member e2b_network_shape_members[] = {
        [NETWORK_ALLOW_OUT] =
                JSON_TEXT_LIST_MEMBER(e2b_network, allow_out, .name = "allowOut",
                                      .max = DESTINATIONS_MAX, .flags = JSON_OMIT_EMPTY),
        [NETWORK_DENY_OUT] =
                JSON_TEXT_LIST_MEMBER(e2b_network, deny_out, .name = "denyOut",
                                      .max = DESTINATIONS_MAX, .flags = JSON_OMIT_EMPTY),
        [NETWORK_MASK] = JSON_TEXT_MEMBER(e2b_network, mask_request_host, .name = "maskRequestHost",
                                          .max = 255, .flags = JSON_OMIT_EMPTY),
        [NETWORK_PROXY] = JSON_RAW_MEMBER(e2b_network, egress_proxy, .name = "egressProxy",
                                          .flags = JSON_OMIT_EMPTY),
        [NETWORK_RULES] =
                JSON_RAW_MEMBER(e2b_network, rules, .flags = JSON_OMIT_EMPTY | JSON_SECRET),
        [NETWORK_PORTS] = JSON_RAW_MEMBER(e2b_network, https_ports, .name = "httpsPorts",
                                          .flags = JSON_OMIT_EMPTY),
        [NETWORK_PUBLIC] = JSON_BOOL_MEMBER(e2b_network, allow_public_traffic,
                                            .name = "allowPublicTraffic", .flags = JSON_OMIT_EMPTY),
        [NETWORK_INTERNET] =
                JSON_BOOL_MEMBER(e2b_network, allow_internet, .name = "allow_internet_access",
                                 .flags = JSON_OMIT_EMPTY),
};
JSON_OPEN_BITS_SHAPE(e2b_network_shape, "E2bNetwork", e2b_network,
                     "Destinations that a sandbox may reach, and access to its ports");

static bool has_row(const struct e2b_network *n, enum network_row row)
{
	return n->present >> row & 1;
}

/* "null", "{}" and "[]" count as not given. */
static bool is_given(struct span raw)
{
	return raw.size > 0 && !span_equals_text(raw, "null") && !span_equals_text(raw, "{}") &&
	       !span_equals_text(raw, "[]");
}

static size_t count_texts(const char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

#define BY_LISTS                                                                                   \
	"a sandbox is filtered by addresses and names: network.allowOut and network.denyOut"
static const struct unsupported {
	size_t offset;
	const char *name, *hint;
} unsupported[] = {
        {offsetof(struct e2b_network, egress_proxy), "egressProxy", BY_LISTS},
        {offsetof(struct e2b_network, https_ports), "httpsPorts",
         "this server connects to ports of a sandbox without TLS"},
};

static int check_supported(const struct e2b_network *n, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(unsupported); i++) {
		const struct unsupported *u = &unsupported[i];

		if (!is_given(*(const struct span *)((const char *)n + u->offset)))
			continue;
		(void)FAIL(err, ERROR_UNSUPPORTED, "network.%s is not supported by this server",
		           u->name);
		return FAIL_HINT(err, "%s", u->hint);
	}
	return 0;
}

/* allow_internet_access false denies all destinations; allowOut makes exceptions. Without an
 * exception the sandbox gets no network. */
int e2b_network_access(struct arena *a, const struct e2b_network *n, int internet,
                       struct e2b_access *ret, struct error *err)
{
	static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};
	struct sandbox_egress lists = {(const char *const *)n->allow_out,
	                               (const char *const *)n->deny_out, "network.allowOut",
	                               "network.denyOut"};

	if (check_supported(n, err) < 0)
		return -1;
	ret->internet = has_row(n, NETWORK_INTERNET) ? n->allow_internet : internet;
	if (ret->internet == 0) {
		/* denyOut has no effect here, but an invalid entry is still an error. */
		if (sandbox_egress_format(a,
		                          &(struct sandbox_egress){.deny = lists.deny,
		                                                   .deny_name = lists.deny_name},
		                          &ret->egress, err) < 0)
			return -1;
		lists.deny = everything;
	}
	if (sandbox_egress_format(a, &lists, &ret->egress, err) < 0)
		return -1;
	if (ret->internet == 0 && count_texts(n->allow_out) == 0)
		ret->egress = "";
	if (*ret->egress)
		ret->internet = 1;
	return 0;
}

bool e2b_network_is_guarded(const struct e2b_network *n)
{
	return has_row(n, NETWORK_PUBLIC) && !n->allow_public_traffic;
}

static const char *write_network(struct arena *a, const struct e2b_network *n)
{
	AUTO(buf_done) struct buf text = BUF(2 * SANDBOX_EGRESS_TEXT_MAX + SHOWN_RULES_MAX);

	json_write(&text, &e2b_network_shape, n);
	return text.overflowed ? "" : arena_copy(a, buf_span(&text));
}

const char *e2b_network_format(struct arena *a, const struct e2b_network *n)
{
	struct e2b_network shown = *n;

	if (!n->present)
		return "";
	/* Rules have secrets; rules.c keeps them. */
	shown.present &= ~(UINT64_C(1) << NETWORK_INTERNET | UINT64_C(1) << NETWORK_RULES);
	shown.allow_internet = false;
	shown.rules = (struct span){NULL, 0};
	return write_network(a, &shown);
}

static void show_list(struct e2b_network *n, enum network_row row, const char *const *list)
{
	const char ***shown = row == NETWORK_ALLOW_OUT ? &n->allow_out : &n->deny_out;
	uint64_t bit = UINT64_C(1) << row;

	*shown = (const char **)(uintptr_t)list;
	n->present = count_texts(list) > 0 ? n->present | bit : n->present & ~bit;
}

const char *e2b_network_format_current(struct arena *a, const struct sandbox_record *r)
{
	struct e2b_network n = {0};
	struct sandbox_egress lists;
	struct error ignored = {0};

	if (r->network == SANDBOX_NETWORK_BLOCKED ||
	    sandbox_egress_parse(a, r->egress, &lists, &ignored) < 0 ||
	    (*r->network_json &&
	     json_parse(a, span_of(r->network_json), &e2b_network_shape, &n, &ignored) < 0))
		return r->network_json;
	/* Such lists only lead connections through the gateway. */
	if (lists.mode == EGRESS_WATCH)
		lists.allow = lists.deny = NULL;
	show_list(&n, NETWORK_ALLOW_OUT, lists.allow);
	show_list(&n, NETWORK_DENY_OUT, lists.deny);
	n.rules = e2b_rules_show(a, r);
	if (n.rules.size > 0)
		n.present |= UINT64_C(1) << NETWORK_RULES;
	return n.present ? write_network(a, &n) : "";
}
