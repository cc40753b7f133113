/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decision/decision.h"
#include "decision/gather.h"
#include "unit.h"

#define NOW INT64_C(1790000000000)
#define BOX "abcdefghij234567abcd"

static struct network_decision refusal_of(const char *host)
{
	struct network_decision d = {.sandbox = BOX,
	                             .port = 443,
	                             .protocol = DECISION_TLS,
	                             .code = DECISION_HOST_NOT_ALLOWED,
	                             .count = 1};

	(void)snprintf(d.host, sizeof(d.host), "%s", host);
	return d;
}

TEST(equal_decisions_are_one_row)
{
	struct network_decision d = refusal_of("a.test"), other = refusal_of("b.test");
	struct gathered_rows *rows;
	struct gather g;

	gather_init(&g);
	assert_null(gather_take(&g));
	d.bytes_in = 7;
	gather_add(&g, &d, NOW);
	gather_add(&g, &d, NOW + 1);
	gather_add(&g, &other, NOW + 2);
	rows = gather_take(&g);
	assert_int_equal(rows->count, 2);
	assert_int_equal(rows->items[0].decision.count, 2);
	assert_int_equal(rows->items[0].decision.bytes_in, 14);
	assert_int_equal(rows->items[0].at, NOW + 1);
	assert_true(rows->items[0].tells && rows->items[1].tells);
	free(rows);
	assert_null(gather_take(&g));
	gather_done(&g);
}

TEST(each_address_has_a_row_of_either_family)
{
	struct network_decision decisions[] = {
	        {.address = 0x01010101},
	        {.address = 0x01010102},
	        {.address6 = {{0x26, 0, 0xaa, 0xaa, [15] = 1}}},
	        {.address6 = {{0x26, 0, 0xbb, 0xbb, [15] = 1}}},
	};
	struct gathered_rows *rows;
	struct gather g;

	gather_init(&g);
	for (size_t i = 0; i < 2 * COUNT_OF(decisions); i++) {
		struct network_decision *d = &decisions[i % COUNT_OF(decisions)];

		(void)snprintf(d->sandbox, sizeof(d->sandbox), "%s", BOX);
		d->port = 443;
		d->protocol = DECISION_TCP;
		d->count = 1;
		gather_add(&g, d, NOW);
	}
	rows = gather_take(&g);
	assert_int_equal(rows->count, COUNT_OF(decisions));
	for (size_t i = 0; i < rows->count; i++) {
		assert_true(decision_is_same(&rows->items[i].decision, &decisions[i]));
		assert_int_equal(rows->items[i].decision.count, 2);
	}
	free(rows);
	gather_done(&g);
}

TEST(a_host_is_news_once_in_a_while)
{
	struct network_decision d = refusal_of("a.test");
	struct gathered_rows *rows;
	struct gather g;

	gather_init(&g);
	for (unsigned i = 0; i < 3; i++) {
		gather_add(&g, &d, NOW + i * (DECISION_QUIET_MS / 2));
		rows = gather_take(&g);
		assert_int_equal(rows->items[0].tells, i != 1);
		free(rows);
	}
	gather_done(&g);
}

TEST(a_sandbox_has_so_many_rows_and_the_rest_is_counted)
{
	struct network_decision d, quiet = refusal_of("quiet.test");
	struct gathered_rows *rows;
	struct gather g;
	uint64_t counted = 0, told = 0;
	char host[32];

	gather_init(&g);
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(host, sizeof(host), "n%u.test", i);
		d = refusal_of(host);
		gather_add(&g, &d, NOW);
	}
	memcpy(quiet.sandbox, "zzcdefghij234567abcd", ID_SIZE);
	gather_add(&g, &quiet, NOW);
	rows = gather_take(&g);
	assert_int_equal(rows->count, DECISION_ROWS_BURST + 2);
	for (size_t i = 0; i < rows->count; i++) {
		counted += rows->items[i].decision.count;
		told += rows->items[i].tells;
	}
	assert_int_equal(counted, 10001);
	assert_int_equal(told, DECISION_EVENTS_BURST + 1);
	assert_string_equal(rows->items[DECISION_ROWS_BURST].decision.host, "");
	assert_int_equal(rows->items[DECISION_ROWS_BURST].decision.count,
	                 10000 - DECISION_ROWS_BURST);
	free(rows);
	gather_done(&g);
}

TEST(memory_is_limited_whatever_comes)
{
	struct network_decision d = refusal_of("a.test");
	struct gather g;

	gather_init(&g);
	for (unsigned i = 0; i < 3 * GATHER_ROWS_MAX; i++) {
		(void)snprintf(d.sandbox, sizeof(d.sandbox), "s%019u", i);
		gather_add(&g, &d, NOW);
	}
	assert_int_equal(g.sandboxes.count, GATHER_SANDBOXES_MAX);
	assert_int_equal(g.rows->count, GATHER_ROWS_MAX);
	assert_int_equal(g.dropped, 2 * GATHER_ROWS_MAX);
	gather_done(&g);
}

TEST(a_command_is_told_its_refusals_and_no_others)
{
	struct network_decision before = refusal_of("before.test"), d = refusal_of("a.test"),
	                        allowed = refusal_of("fine.test"), told[20];
	struct gather g;
	uint64_t mark;
	char host[32];

	gather_init(&g);
	gather_add(&g, &before, NOW);
	gather_add(&g, &d, NOW);
	mark = gather_mark(&g);
	assert_int_equal(gather_since(&g, BOX, mark, told, 20), 0);
	gather_add(&g, &d, NOW);
	gather_add(&g, &d, NOW);
	allowed.verdict = DECISION_ALLOWED;
	gather_add(&g, &allowed, NOW);
	assert_int_equal(gather_since(&g, "other", mark, told, 20), 0);
	assert_int_equal(gather_since(&g, BOX, mark, told, 20), 1);
	assert_string_equal(told[0].host, "a.test");
	assert_int_equal(told[0].count, 2);
	for (unsigned i = 0; i < 50; i++) {
		(void)snprintf(host, sizeof(host), "n%u.test", i);
		d = refusal_of(host);
		gather_add(&g, &d, NOW);
	}
	assert_int_equal(gather_since(&g, BOX, mark, told, 20), GATHER_REFUSALS_MAX);
	assert_int_equal(gather_since(&g, BOX, mark, told, 3), 3);
	gather_done(&g);
}

int main(void)
{
	return RUN(CASE(equal_decisions_are_one_row), CASE(each_address_has_a_row_of_either_family),
	           CASE(a_host_is_news_once_in_a_while),
	           CASE(a_sandbox_has_so_many_rows_and_the_rest_is_counted),
	           CASE(memory_is_limited_whatever_comes),
	           CASE(a_command_is_told_its_refusals_and_no_others));
}
