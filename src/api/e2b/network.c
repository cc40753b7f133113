/* SPDX-License-Identifier: Apache-2.0 */
/* What E2B's clients say of a sandbox's network. Atoll's sandboxes have a network or none; whatever
 * wants more of it is refused by name. */
#include "api/e2b/e2b.h"

#include <string.h>

#define DESTINATIONS_MAX 256
#define EVERYTHING "0.0.0.0/0"

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
static const struct json_member network_members[] = {
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
        [NETWORK_RULES] = JSON_RAW_MEMBER(e2b_network, rules, .flags = JSON_OMIT_EMPTY),
        [NETWORK_PORTS] = JSON_RAW_MEMBER(e2b_network, https_ports, .name = "httpsPorts",
                                          .flags = JSON_OMIT_EMPTY),
        [NETWORK_PUBLIC] =
                JSON_BOOL_MEMBER(e2b_network, allow_public_traffic, .name = "allowPublicTraffic"),
        [NETWORK_INTERNET] =
                JSON_BOOL_MEMBER(e2b_network, allow_internet, .name = "allow_internet_access"),
        JSON_END,
};
const struct json_shape e2b_network_shape = {
        .name = "E2bNetwork",
        .about = "Who may be reached from inside, and what from outside",
        .size = sizeof(struct e2b_network),
        .members = network_members,
        .present_offset = offsetof(struct e2b_network, present),
        .is_open = true,
};

static bool has(const struct e2b_network *n, enum network_row row)
{
	return n->present >> row & 1;
}

/* "null", "{}" and "[]" ask for nothing. */
static bool is_said(struct span raw)
{
	return raw.size > 0 && !span_equals_text(raw, "null") && !span_equals_text(raw, "{}") &&
	       !span_equals_text(raw, "[]");
}

static size_t count(const char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

static int refuse(const char *what, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED, "network.%s is not supported by this server", what);
	error_hint(err, "a sandbox has internet or none: allow_internet_access");
	return -1;
}

static bool is_everything(const char *const *texts)
{
	return count(texts) == 1 && strcmp(texts[0], EVERYTHING) == 0;
}

/* Allowed goes before denied, so that both of everything is everything. */
int e2b_network_internet(const struct e2b_network *n, int said, int *ret, struct error *err)
{
	if (is_said(n->egress_proxy))
		return refuse("egressProxy", err);
	if (is_said(n->rules))
		return refuse("rules", err);
	if (count(n->allow_out) > 0 && !is_everything(n->allow_out))
		return refuse("allowOut", err);
	if (count(n->deny_out) > 0 && !is_everything(n->deny_out))
		return refuse("denyOut", err);
	*ret = said;
	if (has(n, NETWORK_INTERNET))
		*ret = n->allow_internet;
	if (count(n->deny_out) > 0)
		*ret = 0;
	if (count(n->allow_out) > 0)
		*ret = 1;
	return 0;
}

bool e2b_network_is_guarded(const struct e2b_network *n)
{
	return has(n, NETWORK_PUBLIC) && !n->allow_public_traffic;
}

const char *e2b_network_text(struct arena *a, const struct e2b_network *n)
{
	AUTO(buf_done) struct buf text = BUF(DESTINATIONS_MAX * 64);
	struct e2b_network shown = *n;

	if (!n->present)
		return "";
	shown.present &= ~(UINT64_C(1) << NETWORK_INTERNET);
	json_write(&text, &e2b_network_shape, &shown);
	return text.overflowed ? "" : arena_copy(a, buf_span(&text));
}
