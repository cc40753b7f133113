/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/egress_ipv6.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "sandbox/wide_ranges.h"

#define BITS 128
#define BYTES 16
#define ENTRY_MAX (ADDRESS6_TEXT_SIZE - 1 + sizeof("/128") - 1)

bool address6_is_set(const struct address6 *address)
{
	static const struct address6 none;

	return memcmp(address, &none, sizeof(none)) != 0;
}

bool address6_is_same(const struct address6 *a, const struct address6 *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void address6_format(const struct address6 *address, char out[ADDRESS6_TEXT_SIZE])
{
	(void)inet_ntop(AF_INET6, address->bytes, out, ADDRESS6_TEXT_SIZE);
}

static int compare_addresses(const struct address6 *a, const struct address6 *b)
{
	return memcmp(a->bytes, b->bytes, BYTES);
}

static unsigned __int128 number_of(const struct address6 *address)
{
	unsigned __int128 number = 0;

	for (unsigned i = 0; i < BYTES; i++)
		number = number << 8 | address->bytes[i];
	return number;
}

static struct address6 address_of(unsigned __int128 number)
{
	struct address6 address;

	for (unsigned i = BYTES; i-- > 0; number >>= 8)
		address.bytes[i] = (unsigned char)number;
	return address;
}

static void set_ends(struct egress_range6 *range, unsigned prefix)
{
	const unsigned __int128 host = prefix == 0 ? ~(unsigned __int128)0
	                                           : ((unsigned __int128)1 << (BITS - prefix)) - 1,
	                        number = number_of(&range->first);

	range->first = address_of(number & ~host);
	range->last = address_of(number | host);
}

bool egress_range6_parse(struct span text, struct egress_range6 *ret)
{
	char address[ADDRESS6_TEXT_SIZE] = "";
	struct egress_range6 range;
	struct error ignored = {0};
	bool is_short = text.size <= ENTRY_MAX, has_prefix;
	int64_t prefix = BITS;
	struct span head;

	if (!is_short)
		return false;
	has_prefix = span_split(&text, '/', &head);
	if (head.size == 0 || head.size >= sizeof(address))
		return false;
	memcpy(address, head.data, head.size);
	if (inet_pton(AF_INET6, address, range.first.bytes) != 1 ||
	    (has_prefix && span_parse_whole(text, 0, BITS, &prefix, &ignored) < 0))
		return false;
	set_ends(&range, (unsigned)prefix);
	*ret = range;
	return true;
}

bool egress_address6_parse(struct span text, struct address6 *ret)
{
	struct egress_range6 range;

	if (!egress_range6_parse(text, &range) || !address6_is_same(&range.first, &range.last))
		return false;
	*ret = range.first;
	return true;
}

bool egress_range6_has(const struct egress_range6 *range, const struct address6 *address)
{
	return compare_addresses(&range->first, address) <= 0 &&
	       compare_addresses(address, &range->last) <= 0;
}

bool egress_ranges6_have(const struct egress_ranges6 *ranges, const struct address6 *address)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (egress_range6_has(&ranges->items[i], address))
			return true;
	return false;
}

struct prefix6 {
	unsigned char start[BYTES];
	unsigned bits;
};

static struct egress_range6 range_of(const struct prefix6 *prefix)
{
	struct egress_range6 range;

	memcpy(range.first.bytes, prefix->start, BYTES);
	set_ends(&range, prefix->bits);
	return range;
}

/* RFC 6890 and its successors, as base/address.c has them. */
static const struct prefix6 refused[] = {
        {{0}, 3},                       /* ::/3: ::1, ::ffff:0:0/96, 64:ff9b::/96 */
        {{0x20, 0x01}, 23},             /* 2001::/23: Teredo and other protocols */
        {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* 2001:db8::/32: documentation */
        {{0x20, 0x02}, 16},             /* 2002::/16: 6to4 */
        {{0x3f, 0xff}, 20},             /* 3fff::/20: documentation */
        {{0x40}, 2},                    /* 4000::/2 */
        {{0x80}, 1},                    /* 8000::/1: fc00::/7, fe80::/10, ff00::/8 */
};

bool egress_refused_range6(size_t number, struct egress_range6 *ret)
{
	if (number >= COUNT_OF(refused))
		return false;
	*ret = range_of(&refused[number]);
	return true;
}

bool egress_is_refused6(const struct address6 *address)
{
	struct egress_range6 range;

	for (size_t i = 0; egress_refused_range6(i, &range); i++)
		if (egress_range6_has(&range, address))
			return true;
	return false;
}

static bool is_inside(const struct egress_range6 *range, const struct prefix6 *outer)
{
	const struct egress_range6 whole = range_of(outer);

	return egress_range6_has(&whole, &range->first) && egress_range6_has(&whole, &range->last);
}

static bool ranges_overlap(const struct egress_range6 *range, const struct prefix6 *other)
{
	const struct egress_range6 whole = range_of(other);

	return egress_range6_has(&whole, &range->first) || egress_range6_has(range, &whole.first);
}

bool egress_range6_may_open(const struct egress_range6 *range)
{
	static const struct prefix6 private = {{0xfc}, 7}, global = {{0x20}, 3},
	                            teredo = {{0x20, 0x01}, 32}, sixtofour = {{0x20, 0x02}, 16};

	return is_inside(range, &private) ||
	       (is_inside(range, &global) && !ranges_overlap(range, &teredo) &&
	        !ranges_overlap(range, &sixtofour));
}

bool egress_opened_is_full(const struct egress_opened *o)
{
	return o->count + o->count6 == NETWORK_ALLOW_MAX;
}

bool egress_opened_add(struct egress_opened *o, struct span text)
{
	assert(!egress_opened_is_full(o));
	if (egress_range_parse(text, &o->items[o->count]))
		o->count++;
	else if (egress_range6_parse(text, &o->items6[o->count6]))
		o->count6++;
	else
		return false;
	return true;
}

bool egress_opened_has(const struct egress_opened *o, uint32_t address)
{
	for (unsigned i = 0; i < o->count; i++)
		if (egress_range_has(&o->items[i], address))
			return true;
	return false;
}

bool egress_opened_has6(const struct egress_opened *o, const struct address6 *address)
{
	for (unsigned i = 0; i < o->count6; i++)
		if (egress_range6_has(&o->items6[i], address))
			return true;
	return false;
}

/* Moves to the next entry with an IPv6 range; returns false at the end. */
static bool next_range(struct span *rest, bool *ret_is_denied, struct span *ret_entry,
                       struct egress_range6 *ret)
{
	struct span word;

	while (rest->size > 0) {
		(void)span_split(rest, ' ', &word);
		if (word.size < 2 || (word.data[0] != '+' && word.data[0] != '-'))
			continue;
		*ret_is_denied = word.data[0] == '-';
		span_skip(&word, 1);
		*ret_entry = word;
		if (egress_range6_parse(word, ret))
			return true;
	}
	return false;
}

/* Whether the rules deny IPv4 addresses, and mean IPv6 with it; see the header. */
static int find_implied(const char *text, bool has_denied6, bool *ret, struct error *err)
{
	struct egress_ranges denied;
	bool is_all;

	if (sandbox_egress_denied(sandbox_egress_denials(text), &denied, err) < 0)
		return -1;
	is_all = denied.count == 1 && denied.items[0].first == 0 &&
	         denied.items[0].last == UINT32_MAX;
	*ret = is_all || (denied.count > 0 && !has_denied6);
	return 0;
}

int sandbox_egress_denied6(const char *text, struct egress_ranges6 *ret, struct error *err)
{
	struct wide_ranges lists[2] = {{.count = 0}, {.count = 0}}, denied;
	struct span rest = span_of(text), entry;
	struct egress_ranges ignored;
	struct egress_range6 range;
	bool is_denied, is_implied;

	/* Refuses what is no text of rules. */
	if (sandbox_egress_denied(text, &ignored, err) < 0)
		return -1;
	while (next_range(&rest, &is_denied, &entry, &range)) {
		if (lists[is_denied].count == SANDBOX_EGRESS_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d rules of one kind",
			            SANDBOX_EGRESS_MAX);
		wide_ranges_add(&lists[is_denied], number_of(&range.first), number_of(&range.last));
	}
	if (find_implied(text, lists[1].count > 0, &is_implied, err) < 0)
		return -1;
	if (sandbox_egress_cut(text).size > 0) {
		lists[0].count = 0;
		is_implied = true;
	}
	if (is_implied) {
		lists[1].count = 0;
		wide_ranges_add(&lists[1], 0, ~(unsigned __int128)0);
	}
	wide_ranges_subtract(&lists[1], &lists[0], &denied);
	ret->count = denied.count;
	for (size_t i = 0; i < denied.count; i++)
		ret->items[i] = (struct egress_range6){address_of(denied.items[i].first),
		                                       address_of(denied.items[i].last)};
	return 0;
}

struct span sandbox_egress_rule_of_address6(const char *text, const struct address6 *address)
{
	struct span rest = span_of(sandbox_egress_denials(text)), first = rest, entry;
	struct egress_ranges6 denied;
	struct egress_range6 range;
	struct error ignored = {0};
	bool is_denied;

	while (next_range(&rest, &is_denied, &entry, &range))
		if (is_denied && egress_range6_has(&range, address))
			return entry;
	if (first.size == 0 || sandbox_egress_denied6(text, &denied, &ignored) < 0 ||
	    !egress_ranges6_have(&denied, address))
		return (struct span){NULL, 0};
	(void)span_split(&first, ' ', &entry);
	span_skip(&entry, 1);
	return entry;
}
