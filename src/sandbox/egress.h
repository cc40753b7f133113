/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/egress.h — whom a sandbox may reach: lists of addresses, and what they come to. Pure.
 *
 * What is denied and not allowed is out of reach; allowed goes before denied, whichever is the
 * narrower. So a list of allowed ones alone changes nothing, and with "0.0.0.0/0" denied it is all
 * that is left. Rules only take away: what the platform keeps from every sandbox stays away.
 *
 * Kept in the store, and told to the broker, as one text: "+1.1.1.1 +10.0.0.0/8 -0.0.0.0/0"; "" is
 * no rules. Sandboxes have no IPv6, so that an entry of it is checked, kept, and changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define SANDBOX_EGRESS_MAX 100        /* entries of each list */
#define SANDBOX_EGRESS_TEXT_MAX 10240 /* bytes of the text: two lists of the longest entries */
#define SANDBOX_EGRESS_RANGES_MAX (2 * SANDBOX_EGRESS_MAX + 1)
#define SANDBOX_EGRESS_ALL "0.0.0.0/0"

/* NULL-terminated lists of addresses and ranges ("10.0.0.0/8"; bits behind the prefix do not
 * count); a NULL list is an empty one. The names are the lists' own in errors. */
struct sandbox_egress {
	const char *const *allow, *const *deny;
	const char *allow_name, *deny_name;
};
/* Refuses what is no address, names of hosts, and more than SANDBOX_EGRESS_MAX of either. */
MUST_CHECK int sandbox_egress_format(struct arena *a, const struct sandbox_egress *lists,
                                     const char **ret, struct error *err);
/* The lists of such a text; no names. */
MUST_CHECK int sandbox_egress_parse(struct arena *a, const char *text, struct sandbox_egress *ret,
                                    struct error *err);

/* IPv4 addresses in host byte order, both ends included. */
struct egress_range {
	uint32_t first, last;
};
struct egress_ranges {
	struct egress_range items[SANDBOX_EGRESS_RANGES_MAX];
	size_t count;
};
/* Those that are out of reach by this text: ascending, none beside another. */
MUST_CHECK int sandbox_egress_denied(const char *text, struct egress_ranges *ret,
                                     struct error *err);
/* Whether it leaves no address; not so when the text is malformed. */
bool sandbox_egress_denies_all(const char *text);
