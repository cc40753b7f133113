/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/egress.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "sandbox/egress_ipv6.h"
#include "sandbox/wide_ranges.h"

#define ADDRESS_BITS 32
#define ADDRESS6_BITS 128
#define ENTRY_MAX (INET6_ADDRSTRLEN - 1 + sizeof("/128") - 1)
#define ALLOWED '+'
#define DENIED '-'
#define DECRYPTED '!'
#define MODE '~'
#define SOURCE '@'

const char *const egress_modes[] = {
        [EGRESS_ENFORCE] = "enforce",
        [EGRESS_ASK] = "ask",
        [EGRESS_WATCH] = "watch",
        [EGRESS_MODE_COUNT] = NULL,
};

struct egress_entry {
	bool is_ipv4;
	struct egress_range range; /* an IPv4 range */
};

static uint32_t host_bits(int64_t prefix)
{
	return prefix == 0 ? UINT32_MAX : (uint32_t)((UINT64_C(1) << (ADDRESS_BITS - prefix)) - 1);
}

/* Returns false on failure; the caller writes the error. */
static bool parse_entry(struct span text, struct egress_entry *ret)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct error ignored = {0};
	struct in6_addr in6;
	struct in_addr in;
	struct span head;
	bool is_short = text.size <= ENTRY_MAX, is_ipv4;
	bool has_prefix = span_split(&text, '/', &head);
	int64_t prefix;

	if (!is_short || head.size == 0 || head.size >= sizeof(address))
		return false;
	memcpy(address, head.data, head.size);
	is_ipv4 = inet_pton(AF_INET, address, &in) == 1;
	if (!is_ipv4 && inet_pton(AF_INET6, address, &in6) != 1)
		return false;
	prefix = is_ipv4 ? ADDRESS_BITS : ADDRESS6_BITS;
	if (has_prefix && span_parse_whole(text, 0, prefix, &prefix, &ignored) < 0)
		return false;
	*ret = (struct egress_entry){.is_ipv4 = is_ipv4};
	if (is_ipv4) {
		ret->range.first = ntohl(in.s_addr) & ~host_bits(prefix);
		ret->range.last = ret->range.first | host_bits(prefix);
	}
	return true;
}

bool egress_range_parse(struct span text, struct egress_range *ret)
{
	struct egress_entry entry;

	if (!parse_entry(text, &entry) || !entry.is_ipv4)
		return false;
	*ret = entry.range;
	return true;
}

/* The prefix of the largest block that begins at `first` and ends at `last` or before. */
static unsigned find_prefix(uint32_t first, uint32_t last)
{
	unsigned prefix = 32;

	while (prefix > 0) {
		uint64_t size = UINT64_C(1) << (33 - prefix);

		if (first & (size - 1) || last - first < size - 1)
			break;
		prefix--;
	}
	return prefix;
}

bool egress_range_next_block(const struct egress_range *range, uint64_t *at,
                             char ret[EGRESS_BLOCK_SIZE])
{
	unsigned prefix;
	uint32_t first = (uint32_t)*at;

	if (*at > range->last)
		return false;
	prefix = find_prefix(first, range->last);
	(void)snprintf(ret, EGRESS_BLOCK_SIZE, "%u.%u.%u.%u/%u", first >> 24, first >> 16 & 255,
	               first >> 8 & 255, first & 255, prefix);
	*at += UINT64_C(1) << (32 - prefix);
	return true;
}

bool egress_range_has(const struct egress_range *range, uint32_t address)
{
	return address >= range->first && address <= range->last;
}

static int refuse_entry(const char *list, size_t number, const char *text, struct error *err)
{
	(void)FAIL(err, ERROR_INVALID, "%s[%zu] '%.80s' is not an address, a range or a host name",
	           list, number, text);
	return FAIL_HINT(
	        err, "an address such as 1.1.1.1, a range such as 10.0.0.0/8, or a name such as "
	             "example.com or *.example.com");
}

/* Private, shared, link-local (cloud metadata), multicast and reserved ranges. Ranges for
 * documentation are not included: labs use them for real machines. */
static const struct egress_range refused[] = {
        {0x00000000, 0x00ffffff}, /* 0.0.0.0/8 */
        {0x0a000000, 0x0affffff}, /* 10.0.0.0/8 */
        {0x64400000, 0x647fffff}, /* 100.64.0.0/10 */
        {0x7f000000, 0x7fffffff}, /* 127.0.0.0/8 */
        {0xa9fe0000, 0xa9feffff}, /* 169.254.0.0/16 */
        {0xac100000, 0xac1fffff}, /* 172.16.0.0/12 */
        {0xc0a80000, 0xc0a8ffff}, /* 192.168.0.0/16 */
        {0xe0000000, 0xffffffff}, /* 224.0.0.0/4, 240.0.0.0/4 */
};

bool egress_refused_range(size_t number, struct egress_range *ret)
{
	if (number >= COUNT_OF(refused))
		return false;
	*ret = refused[number];
	return true;
}

bool egress_is_refused(uint32_t address)
{
	for (size_t i = 0; i < COUNT_OF(refused); i++)
		if (egress_range_has(&refused[i], address))
			return true;
	return false;
}

struct egress_list {
	char sign;
	const char *name;
	const char *const *items;
	size_t addresses, names;
	bool has_all; /* the list contains "0.0.0.0/0" */
	const char *first_name;
};

static int count_entry(struct egress_list *list, size_t number, struct error *err)
{
	const char *text = list->items[number];
	struct egress_entry entry;

	if (parse_entry(span_of(text), &entry)) {
		list->has_all = list->has_all || (entry.is_ipv4 && entry.range.first == 0 &&
		                                  entry.range.last == UINT32_MAX);
		return ++list->addresses <= SANDBOX_EGRESS_MAX
		               ? 0
		               : FAIL(err, ERROR_INVALID,
		                      "%s has more than %d addresses and ranges", list->name,
		                      SANDBOX_EGRESS_MAX);
	}
	if (!egress_name_is_valid(span_of(text)))
		return refuse_entry(list->name, number, text, err);
	if (list->sign == DENIED) {
		(void)FAIL(err, ERROR_INVALID,
		           "%s[%zu] '%.80s' is a host name, which can only be allowed", list->name,
		           number, text);
		return FAIL_HINT(err, "deny addresses and allow names");
	}
	if (!list->first_name)
		list->first_name = text;
	return ++list->names <= SANDBOX_EGRESS_NAMES_MAX
	               ? 0
	               : FAIL(err, ERROR_INVALID, "%s has more than %d names", list->name,
	                      SANDBOX_EGRESS_NAMES_MAX);
}

static int add_list(struct buf *out, struct egress_list *list, struct error *err)
{
	for (size_t i = 0; list->items && list->items[i]; i++) {
		if (count_entry(list, i, err) < 0)
			return -1;
		if (out->size > 0)
			buf_add_byte(out, ' ');
		buf_add_byte(out, list->sign);
		buf_add_text(out, list->items[i]);
	}
	return 0;
}

static struct span name_of_mark(const char *mark)
{
	struct span name = span_of(mark);

	if (span_ends_with_word(name, SPAN(SANDBOX_EGRESS_PLAIN)))
		name.size -= strlen(SANDBOX_EGRESS_PLAIN);
	return name;
}

static int add_marks(struct buf *out, const char *const *decrypted, struct error *err)
{
	for (size_t i = 0; decrypted && decrypted[i]; i++) {
		if (i == SANDBOX_EGRESS_DECRYPTED_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d names are decrypted",
			            SANDBOX_EGRESS_DECRYPTED_MAX);
		if (!egress_name_is_valid(name_of_mark(decrypted[i])))
			return FAIL(err, ERROR_INVALID, "'%.80s' is not a host name", decrypted[i]);
		buf_addf(out, "%s%c%s", out->size > 0 ? " " : "", DECRYPTED, decrypted[i]);
	}
	return 0;
}

int sandbox_egress_format(struct arena *a, const struct sandbox_egress *lists, const char **ret,
                          struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);
	struct egress_list allow = {ALLOWED, lists->allow_name ? lists->allow_name : "allow",
	                            lists->allow},
	                   deny = {DENIED, lists->deny_name ? lists->deny_name : "deny",
	                           lists->deny};

	if (add_list(&text, &allow, err) < 0 || add_list(&text, &deny, err) < 0)
		return -1;
	if (allow.first_name && !deny.has_all) {
		(void)FAIL(err, ERROR_INVALID,
		           "%s has '%.80s', a host name, but not all addresses are denied",
		           allow.name, allow.first_name);
		return FAIL_HINT(err, "deny \"" SANDBOX_EGRESS_ALL
		                      "\", too: names are what is left then");
	}
	if (add_marks(&text, lists->decrypted, err) < 0)
		return -1;
	if (lists->mode != EGRESS_ENFORCE)
		buf_addf(&text, "%s%c%s", text.size > 0 ? " " : "", MODE,
		         egress_modes[lists->mode]);
	*ret = arena_copy(a, buf_span(&text));
	return 0;
}

enum egress_mode sandbox_egress_mode(const char *text)
{
	const char *word = text && *text != SANDBOX_EGRESS_CUT ? strrchr(text, MODE) : NULL;

	for (unsigned i = 0; word && i < EGRESS_MODE_COUNT; i++)
		if (strcmp(word + 1, egress_modes[i]) == 0)
			return (enum egress_mode)i;
	return EGRESS_ENFORCE;
}

const char *sandbox_egress_leave_by(struct arena *a, const char *source, const char *text)
{
	return *source ? arena_format(a, "%c%s%s%s", SOURCE, source, *text ? " " : "", text) : text;
}

uint32_t sandbox_egress_source(const char *text)
{
	struct span rest = span_of(text), word;
	struct egress_range range;

	if (*text != SOURCE)
		return 0;
	(void)span_split(&rest, ' ', &word);
	span_skip(&word, 1);
	return egress_range_parse(word, &range) && range.first == range.last ? range.first : 0;
}

/* Returns 1 for an entry, 0 at the end. */
static int next_entry(struct span *rest, bool *ret_is_denied, struct span *ret, struct error *err)
{
	struct egress_entry ignored;

	do {
		if (rest->size == 0)
			return 0;
		(void)span_split(rest, ' ', ret);
	} while (ret->size > 1 && (ret->data[0] == DECRYPTED || ret->data[0] == SOURCE ||
	                           ret->data[0] == SANDBOX_EGRESS_CUT));
	/* The mode is the last word. */
	if (ret->size > 1 && ret->data[0] == MODE && rest->size == 0)
		return 0;
	if (ret->size < 2 || (ret->data[0] != ALLOWED && ret->data[0] != DENIED))
		return FAIL(err, ERROR_INVALID, "'%.*s' is not a rule", (int)ret->size, ret->data);
	*ret_is_denied = ret->data[0] == DENIED;
	span_skip(ret, 1);
	if (!parse_entry(*ret, &ignored) && (*ret_is_denied || !egress_name_is_valid(*ret)))
		return FAIL(err, ERROR_INVALID, "'%.*s' is not an address, a range or a name",
		            (int)ret->size, ret->data);
	return 1;
}

static const char **parse_marks(struct arena *a, const char *text)
{
	const char **marks = ARENA_ARRAY(a, const char *, SANDBOX_EGRESS_DECRYPTED_MAX + 1);
	struct span rest = span_of(text), word;
	size_t count = 0;

	while (rest.size > 0 && count < SANDBOX_EGRESS_DECRYPTED_MAX) {
		(void)span_split(&rest, ' ', &word);
		if (word.size > 1 && word.data[0] == DECRYPTED)
			marks[count++] = arena_copy(a, span_after(word, 1));
	}
	return marks;
}

int sandbox_egress_parse(struct arena *a, const char *text, struct sandbox_egress *ret,
                         struct error *err)
{
	const char **lists[2];
	size_t counts[2] = {0, 0};
	struct span rest = span_of(text), item;
	bool is_denied;
	int got;

	for (unsigned i = 0; i < 2; i++)
		lists[i] = ARENA_ARRAY(a, const char *, SANDBOX_EGRESS_ALLOW_MAX + 1);
	while ((got = next_entry(&rest, &is_denied, &item, err)) > 0) {
		if (counts[is_denied] ==
		    (is_denied ? SANDBOX_EGRESS_MAX : SANDBOX_EGRESS_ALLOW_MAX))
			return FAIL(err, ERROR_INVALID, "too many rules of one kind");
		lists[is_denied][counts[is_denied]++] = arena_copy(a, item);
	}
	if (got < 0)
		return -1;
	*ret = (struct sandbox_egress){.allow = lists[0],
	                               .deny = lists[1],
	                               .mode = sandbox_egress_mode(text),
	                               .decrypted = parse_marks(a, text)};
	return 0;
}

int sandbox_egress_mark(struct arena *a, const char *text, const char *const *decrypted,
                        const char **ret, struct error *err)
{
	struct sandbox_egress lists;

	if (sandbox_egress_parse(a, text, &lists, err) < 0)
		return -1;
	lists.decrypted = decrypted;
	return sandbox_egress_format(a, &lists, ret, err);
}

int sandbox_egress_keep_marks(struct arena *a, const char *text, const char *before,
                              const char **ret, struct error *err)
{
	return sandbox_egress_mark(a, text, parse_marks(a, before), ret, err);
}

int sandbox_egress_add(struct arena *a, const char *text, const char *entry, const char **ret,
                       struct error *err)
{
	struct sandbox_egress lists;
	size_t count = 0;
	const char **allow;

	if (sandbox_egress_parse(a, text, &lists, err) < 0)
		return -1;
	for (; lists.allow[count]; count++)
		if (strcmp(lists.allow[count], entry) == 0) {
			*ret = text;
			return 0;
		}
	allow = ARENA_ARRAY(a, const char *, count + 2);
	for (size_t i = 0; i < count; i++)
		allow[i] = lists.allow[i];
	allow[count] = entry;
	allow[count + 1] = NULL;
	lists.allow = allow;
	return sandbox_egress_format(a, &lists, ret, err);
}

static void narrow_ranges(const struct wide_ranges *from, struct egress_ranges *ret)
{
	ret->count = from->count;
	for (size_t i = 0; i < from->count; i++)
		ret->items[i] = (struct egress_range){(uint32_t)from->items[i].first,
		                                      (uint32_t)from->items[i].last};
}

int sandbox_egress_denied(const char *text, struct egress_ranges *ret, struct error *err)
{
	struct wide_ranges lists[2] = {{.count = 0}, {.count = 0}}, denied;
	struct span rest = span_of(text), item;
	struct egress_entry entry;
	bool is_denied;
	int got;

	if (*text == SANDBOX_EGRESS_CUT && !egress_cut_is_valid(sandbox_egress_cut(text)))
		return FAIL(err, ERROR_INVALID, "the rules begin with an unknown reason of a cut");
	while ((got = next_entry(&rest, &is_denied, &item, err)) > 0) {
		struct wide_ranges *list = &lists[is_denied];

		if (!parse_entry(item, &entry) || !entry.is_ipv4)
			continue;
		if (list->count == SANDBOX_EGRESS_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d rules of one kind",
			            SANDBOX_EGRESS_MAX);
		wide_ranges_add(list, entry.range.first, entry.range.last);
	}
	if (got < 0)
		return -1;
	wide_ranges_subtract(&lists[1], &lists[0], &denied);
	if (*text == SANDBOX_EGRESS_CUT) {
		denied.count = 0;
		wide_ranges_add(&denied, 0, UINT32_MAX);
	}
	narrow_ranges(&denied, ret);
	return 0;
}

int sandbox_egress_allowed(const char *text, struct egress_ranges *ret, struct error *err)
{
	struct wide_ranges all = {.count = 0}, holes = {.count = 0}, allowed;
	struct egress_ranges denied;

	if (sandbox_egress_denied(text, &denied, err) < 0)
		return -1;
	wide_ranges_add(&all, 0, UINT32_MAX);
	for (size_t i = 0; i < denied.count; i++)
		wide_ranges_add(&holes, denied.items[i].first, denied.items[i].last);
	wide_ranges_subtract(&all, &holes, &allowed);
	narrow_ranges(&allowed, ret);
	return 0;
}

bool sandbox_egress_denies_all(const char *text)
{
	struct egress_ranges denied;
	struct egress_ranges6 denied6;
	struct error ignored = {0};
	/* Where all IPv4 addresses are denied, so are those of IPv6 that no entry allows. */
	struct egress_range6 all6;

	return egress_range6_parse(SPAN(EGRESS_ALL6), &all6) &&
	       sandbox_egress_denied(text, &denied, &ignored) == 0 && denied.count == 1 &&
	       denied.items[0].first == 0 && denied.items[0].last == UINT32_MAX &&
	       sandbox_egress_denied6(text, &denied6, &ignored) == 0 && denied6.count == 1 &&
	       address6_is_same(&denied6.items[0].first, &all6.first) &&
	       address6_is_same(&denied6.items[0].last, &all6.last) &&
	       !sandbox_egress_has_names(text);
}

const char *sandbox_egress_denials(const char *text)
{
	const char *found = strstr(text, " -");

	return text[0] == DENIED ? text : found ? found + 1 : "";
}

struct span sandbox_egress_rule_of_address(const char *text, uint32_t address)
{
	struct span rest = span_of(sandbox_egress_denials(text)), entry;
	struct egress_range range;

	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &entry);
		span_skip(&entry, 1);
		if (egress_range_parse(entry, &range) && egress_range_has(&range, address))
			return entry;
	}
	return (struct span){NULL, 0};
}
