/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/egress_ipv6.h"
#include "sandbox/wide_ranges.h"
#include "unit.h"

#define UNIVERSE 96 /* numbers that the model knows */
#define ROUNDS 20000
#define LISTED 12

static const unsigned __int128 end = ~(unsigned __int128)0;

static unsigned pick(unsigned below)
{
	return (unsigned)random() % below;
}

static void fill_list(struct wide_ranges *ranges, bool in[UNIVERSE], unsigned __int128 base)
{
	unsigned count = pick(LISTED);

	ranges->count = 0;
	memset(in, 0, UNIVERSE * sizeof(*in));
	for (unsigned i = 0; i < count; i++) {
		unsigned first = pick(UNIVERSE), last = first + pick(UNIVERSE - first);

		if (pick(3) == 0)
			last = first;
		wide_ranges_add(ranges, base + first, base + last);
		for (unsigned at = first; at <= last; at++)
			in[at] = true;
	}
}

/* The ranges of a model: ascending, not adjacent. */
static void check_model(const struct wide_ranges *got, const bool in[UNIVERSE],
                        unsigned __int128 base)
{
	size_t count = 0;

	for (unsigned at = 0; at < UNIVERSE; at++) {
		unsigned first = at;

		if (!in[at])
			continue;
		while (at + 1 < UNIVERSE && in[at + 1])
			at++;
		assert_true(count < got->count);
		assert_true(got->items[count].first == base + first);
		assert_true(got->items[count].last == base + at);
		count++;
	}
	assert_int_equal(got->count, count);
}

TEST(what_is_left_is_what_a_model_says)
{
	const unsigned __int128 bases[] = {
	        0,
	        (unsigned __int128)UINT32_MAX - UNIVERSE / 2,
	        (unsigned __int128)UINT64_MAX - UNIVERSE / 2,
	        end - UNIVERSE + 1,
	};
	struct wide_ranges from, holes, got;
	bool in[UNIVERSE], out[UNIVERSE];

	srandom(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned __int128 base = bases[round % COUNT_OF(bases)];

		fill_list(&from, in, base);
		fill_list(&holes, out, base);
		wide_ranges_subtract(&from, &holes, &got);
		for (unsigned at = 0; at < UNIVERSE; at++)
			in[at] = in[at] && !out[at];
		check_model(&got, in, base);
	}
}

TEST(everything_may_be_taken_away)
{
	struct wide_ranges from = {.count = 0}, holes = {.count = 0}, got;

	wide_ranges_subtract(&from, &holes, &got);
	assert_int_equal(got.count, 0);
	wide_ranges_add(&from, 0, end);
	wide_ranges_subtract(&from, &holes, &got);
	assert_int_equal(got.count, 1);
	assert_true(got.items[0].first == 0 && got.items[0].last == end);
	wide_ranges_add(&holes, 0, end);
	wide_ranges_subtract(&from, &holes, &got);
	assert_int_equal(got.count, 0);
}

/* Rules as users write them, of both families, against a look at each entry. */
static void check_rules(const char *text, const bool denied[UNIVERSE], const bool allowed[UNIVERSE])
{
	struct egress_ranges four;
	struct egress_ranges6 six;
	struct error err = {0};
	struct address6 address = {{0x26, 0}};

	assert_int_equal(sandbox_egress_denied(text, &four, &err), 0);
	assert_int_equal(sandbox_egress_denied6(text, &six, &err), 0);
	for (uint32_t at = 0; at < UNIVERSE; at++) {
		bool wanted = denied[at] && !allowed[at], found = false;

		for (size_t i = 0; i < four.count; i++)
			found = found || egress_range_has(&four.items[i], 0x01020300 + at);
		assert_int_equal(found, wanted);
		address.bytes[15] = (unsigned char)at;
		assert_int_equal(egress_ranges6_have(&six, &address), wanted);
	}
}

TEST(both_families_deny_alike)
{
	bool lists[2][UNIVERSE];

	srandom(2);
	for (unsigned round = 0; round < ROUNDS / 10; round++) {
		AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);

		memset(lists, 0, sizeof(lists));
		/* The last one, so that IPv6 is not denied as a whole. */
		buf_add_text(&text, "-9.9.9.9 -2601::");
		for (unsigned i = 0; i < LISTED; i++) {
			unsigned bits = pick(6), first = pick(UNIVERSE) >> bits << bits;
			bool is_denied = pick(2);

			buf_addf(&text, " %c1.2.3.%u/%u %c2600::%x/%u", is_denied ? '-' : '+',
			         first, 32 - bits, is_denied ? '-' : '+', first, 128 - bits);
			for (unsigned at = first; at < first + (1u << bits) && at < UNIVERSE; at++)
				lists[is_denied][at] = true;
		}
		check_rules(buf_text(&text), lists[1], lists[0]);
	}
}

int main(void)
{
	return RUN(CASE(what_is_left_is_what_a_model_says), CASE(everything_may_be_taken_away),
	           CASE(both_families_deny_alike));
}
