/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/egress.h — network rules of a sandbox: which addresses and hosts it may reach. Pure.
 *
 * A sandbox cannot reach a denied address unless it is also allowed: allow entries win over deny
 * entries, whichever is narrower. A list of allowed entries alone therefore changes nothing; with
 * "0.0.0.0/0" denied, only the allowed entries are left. Rules only take access away: ranges that
 * the platform refuses stay refused.
 *
 * A name ("example.com", or "*.example.com" for all names below it but not itself) can only be
 * allowed, and only where all addresses are denied. A gateway (egress/egress.h) then lets TLS and
 * HTTP connections for that name through, whatever addresses it has.
 *
 * The TLS of a name that is marked as decrypted ends at the credential proxy
 * (credential/proxy/proxy.h): the gateway hands such connections over. A mark with ":80" is about
 * HTTP without TLS instead. A mark allows nothing.
 *
 * The mode says what happens to what the rules refuse: it is refused (enforce), refused and a
 * person is asked (ask), or let through and recorded (watch).
 *
 * The store and the broker hold the rules as one text: "+1.1.1.1 +example.com -0.0.0.0/0"; "" means
 * no rules. "!api.example.com" marks a name. A last word "~ask" or "~watch" is the mode. A first
 * word "^" with a reason cuts the network: nothing is reachable, whatever the other words say.
 * Callers cannot write it; the store has it beside the sandbox's own rules. IPv6: egress_ipv6.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define SANDBOX_EGRESS_MAX 100           /* addresses and ranges per list */
#define SANDBOX_EGRESS_NAMES_MAX 256     /* host names, in addition */
#define SANDBOX_EGRESS_DECRYPTED_MAX 128 /* marks */
#define SANDBOX_EGRESS_ALLOW_MAX (SANDBOX_EGRESS_MAX + SANDBOX_EGRESS_NAMES_MAX)
#define SANDBOX_HOST_NAME_MAX 253 /* bytes, "*." included */
#define SANDBOX_EGRESS_CUT '^'    /* before the reason of a cut */
/* Bytes of a reason; with the id of a sandbox it is a prefix in the kernel's log. */
#define SANDBOX_EGRESS_CUT_MAX 100
#define SANDBOX_EGRESS_PLAIN ":80" /* the end of a mark for HTTP without TLS */
/* Bytes of the text with the longest possible entries. */
#define SANDBOX_EGRESS_TEXT_MAX                                                                    \
	(10240 + SANDBOX_EGRESS_CUT_MAX +                                                          \
	 (SANDBOX_EGRESS_NAMES_MAX + SANDBOX_EGRESS_DECRYPTED_MAX) * (SANDBOX_HOST_NAME_MAX + 5))
/* The same as the broker and the gateway get it: with "@255.255.255.255 " before it. */
#define SANDBOX_EGRESS_TOLD_MAX (SANDBOX_EGRESS_TEXT_MAX + 17)
#define SANDBOX_EGRESS_RANGES_MAX (2 * SANDBOX_EGRESS_MAX + 1)
#define NETWORK_ALLOW_MAX 64 /* ranges of the option network_allow */
#define SANDBOX_EGRESS_ALL "0.0.0.0/0"

/* NULL-terminated lists of addresses and ranges ("10.0.0.0/8"; bits after the prefix are ignored);
 * a NULL list is empty. Errors use allow_name and deny_name for the lists. */
enum egress_mode { EGRESS_ENFORCE, EGRESS_ASK, EGRESS_WATCH, EGRESS_MODE_COUNT };
extern const char *const egress_modes[]; /* names, NULL-terminated */
struct sandbox_egress {
	const char *const *allow, *const *deny;
	const char *allow_name, *deny_name;
	enum egress_mode mode;
	const char *const *decrypted; /* names, also "*.NAME", both also with ":80"; NULL: none */
};
/* Writes the text of the lists. Refuses entries that are neither address nor name, denied names,
 * names while not all addresses are denied, and too many entries. */
MUST_CHECK int sandbox_egress_format(struct arena *a, const struct sandbox_egress *lists,
                                     const char **ret, struct error *err);
/* Parses such a text. allow_name and deny_name stay NULL. */
MUST_CHECK int sandbox_egress_parse(struct arena *a, const char *text, struct sandbox_egress *ret,
                                    struct error *err);

/* An IPv6 address; egress_ipv6.h has the rules of them. */
#define ADDRESS6_TEXT_SIZE 46 /* INET6_ADDRSTRLEN */

struct address6 {
	unsigned char bytes[16]; /* network byte order; all zero: no address */
};
bool address6_is_set(const struct address6 *address);
bool address6_is_same(const struct address6 *a, const struct address6 *b);
void address6_format(const struct address6 *address, char out[ADDRESS6_TEXT_SIZE]);

/* IPv4 addresses in host byte order, both ends included. */
struct egress_range {
	uint32_t first, last;
};
struct egress_ranges {
	struct egress_range items[SANDBOX_EGRESS_RANGES_MAX];
	size_t count;
};
enum egress_mode sandbox_egress_mode(const char *text);
/* The text with one more allowed address, range or name, in the arena; the same text when it allows
 * the entry already. */
MUST_CHECK int sandbox_egress_add(struct arena *a, const char *text, const char *entry,
                                  const char **ret, struct error *err);
/* The text with the source address of the project, as the broker and the gateway get it:
 * "@203.0.113.9 -0.0.0.0/0". The store has texts without one. The same text when `source` is "". */
const char *sandbox_egress_leave_by(struct arena *a, const char *source, const char *text);
/* The address by which connections must leave; 0: any. */
uint32_t sandbox_egress_source(const char *text);
/* The ranges that this text denies: ascending, not adjacent. */
MUST_CHECK int sandbox_egress_denied(const char *text, struct egress_ranges *ret,
                                     struct error *err);
/* All other ranges: what the text leaves reachable by address. */
MUST_CHECK int sandbox_egress_allowed(const char *text, struct egress_ranges *ret,
                                      struct error *err);
/* The entries of the text that deny: its end, or "". */
const char *sandbox_egress_denials(const char *text);
/* The first entry that denies the address, or an empty span. Borrows the text. */
struct span sandbox_egress_rule_of_address(const char *text, uint32_t address);
/* Whether the text leaves no address and no name reachable; false if it is malformed. */
bool sandbox_egress_denies_all(const char *text);
/* Accepts "1.1.1.1" and "10.0.0.0/8"; returns false for anything else. */
bool egress_range_parse(struct span text, struct egress_range *ret);
bool egress_range_has(const struct egress_range *range, uint32_t address);
/* Writes the next block of a range, such as "10.0.0.0/8": the fewest blocks that are the range. *at
 * is range->first before the first call. False: there are no more. */
#define EGRESS_BLOCK_SIZE sizeof("255.255.255.255/32")
bool egress_range_next_block(const struct egress_range *range, uint64_t *at,
                             char ret[EGRESS_BLOCK_SIZE]);
/* Whether every sandbox is kept from this address, whatever its rules say: private, shared,
 * link-local (metadata services), multicast and reserved ranges. egress_refused_range numbers them
 * from 0 and returns false after the last. */
bool egress_is_refused(uint32_t address);
bool egress_refused_range(size_t number, struct egress_range *ret);

/* Named lists of hosts to allow, from the files in presets/; the last name is NULL. */
struct egress_preset {
	const char *name, *about;
	const char *const *hosts; /* NULL-terminated */
};
extern const struct egress_preset egress_presets[];
/* Adds the hosts of presets to a list, each once, in the arena. ERROR_INVALID names an unknown one
 * and those that are known. */
MUST_CHECK int egress_presets_add(struct arena *a, const char *const *names,
                                  const char *const *allow, const char ***ret, struct error *err);

/* the cut by a quota, in egress_cut.c */

struct egress_quota {
	const char *scope, *subject; /* as in sandbox/quota.h */
	double limit_mb;
	int64_t until; /* unix ms: when the network comes back */
};
/* Writes the reason of a cut: "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z". */
void egress_cut_format(char out[SANDBOX_EGRESS_CUT_MAX + 1], const struct egress_quota *quota);
bool egress_cut_is_valid(struct span cut);
/* The reason as a sentence; of an invalid one, that there is a quota. */
void egress_cut_describe(struct buf *out, struct span cut);
/* The text with this reason as its first word, in the arena; the same text when `cut` is "". */
const char *sandbox_egress_under(struct arena *a, const char *text, const char *cut);
/* The reason in a text, or an empty span. Borrows the text. */
struct span sandbox_egress_cut(const char *text);

/* host names, in egress_names.c: ASCII (IDNA as "xn--…"), case-insensitive */

/* "example.com": labels of 1 to 63 letters, digits, '-' and '_'; the last label is not a number. */
bool host_name_is_valid(struct span name);
/* A host name, or "*." and a host name. */
bool egress_name_is_valid(struct span pattern);
/* Whether the text allows any names. */
bool sandbox_egress_has_names(const char *text);
bool sandbox_egress_allows_name(const char *text, struct span name);
bool sandbox_egress_decrypts(const char *text, struct span name, bool is_plain);
/* The text with these marks (NULL-terminated; NULL: none) in place of its own, in the arena. */
MUST_CHECK int sandbox_egress_mark(struct arena *a, const char *text, const char *const *decrypted,
                                   const char **ret, struct error *err);
/* The text with the marks of another text, `before`: rules of addresses and names are set without
 * marks, which belong to the rules of credentials. */
MUST_CHECK int sandbox_egress_keep_marks(struct arena *a, const char *text, const char *before,
                                         const char **ret, struct error *err);
/* The entry that allows the name, or an empty span. Borrows the text. */
struct span sandbox_egress_rule_of_name(const char *text, struct span name);
