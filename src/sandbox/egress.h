/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/egress.h — whom a sandbox may reach: lists of addresses and of hosts' names, and what
 * they come to. Pure.
 *
 * What is denied and not allowed is out of reach; allowed goes before denied, whichever is the
 * narrower. So a list of allowed ones alone changes nothing, and with "0.0.0.0/0" denied it is all
 * that is left. Rules only take away: what the platform keeps from every sandbox stays away.
 *
 * A name ("example.com", or "*.example.com": all below it, and not itself) may only be allowed, and
 * only where all addresses are denied: who speaks TLS or HTTP of such a name is let through to it
 * by a gateway (egress/egress.h), whatever its addresses are.
 *
 * Kept in the store, and told to the broker, as one text: "+1.1.1.1 +example.com -0.0.0.0/0"; "" is
 * no rules. Sandboxes have no IPv6, so that an entry of it is checked, kept, and changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

#define SANDBOX_EGRESS_MAX 100       /* addresses and ranges of each list */
#define SANDBOX_EGRESS_NAMES_MAX 256 /* names of hosts, beside them */
#define SANDBOX_EGRESS_ALLOW_MAX (SANDBOX_EGRESS_MAX + SANDBOX_EGRESS_NAMES_MAX)
#define SANDBOX_HOST_NAME_MAX 253 /* bytes, "*." included */
/* Bytes of the text: lists of the longest entries. */
#define SANDBOX_EGRESS_TEXT_MAX (10240 + SANDBOX_EGRESS_NAMES_MAX * (SANDBOX_HOST_NAME_MAX + 2))
#define SANDBOX_EGRESS_RANGES_MAX (2 * SANDBOX_EGRESS_MAX + 1)
#define NETWORK_ALLOW_MAX 64 /* ranges of the option network_allow */
#define SANDBOX_EGRESS_ALL "0.0.0.0/0"

/* NULL-terminated lists of addresses and ranges ("10.0.0.0/8"; bits behind the prefix do not
 * count); a NULL list is an empty one. The names are the lists' own in errors. */
struct sandbox_egress {
	const char *const *allow, *const *deny;
	const char *allow_name, *deny_name;
};
/* Refuses what is neither an address nor a name, names that are denied or that are allowed where
 * not all is denied, and too many of either. */
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
/* Whether it leaves no address and no name; not so when the text is malformed. */
bool sandbox_egress_denies_all(const char *text);
/* "1.1.1.1" or "10.0.0.0/8"; false for all else. */
bool egress_range_parse(struct span text, struct egress_range *ret);
bool egress_range_has(const struct egress_range *range, uint32_t address);
/* Whether it is out of reach for every sandbox, whatever its rules say: private, shared, link-local
 * (metadata services), multicast and reserved ranges. The first is given with its number, from 0 on
 * until there is none. */
bool egress_is_refused(uint32_t address);
bool egress_refused_range(size_t number, struct egress_range *ret);

/* ---- names of hosts, in egress_names.c: ASCII (IDNA as "xn--…"), in either case ---- */

/* "example.com": labels of 1 to 63 letters, digits, '-' and '_', the last of which is no number. */
bool host_name_is_valid(struct span name);
/* The same, or "*." and such a name. */
bool egress_name_is_valid(struct span pattern);
/* Whether the text allows names at all, and whether this one. */
bool sandbox_egress_has_names(const char *text);
bool sandbox_egress_allows_name(const char *text, struct span name);
