/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "edge/tickets.h"
#include "unit.h"

#define PATH "/api/sandbox/terminal/a.1/browser"

static const struct api_ticket sample = {
        .key_hash = {1, 2, 3}, .project_id = "default", .path = PATH};

TEST(a_ticket_is_good_once)
{
	struct api_tickets *t = api_tickets_new();
	char first[API_TICKET_SIZE + 1], second[API_TICKET_SIZE + 1];
	struct api_ticket got;

	api_tickets_issue(t, &sample, 1, first);
	api_tickets_issue(t, &sample, 1, second);
	assert_string_not_equal(first, second);
	assert_int_equal(strspn(first, "0123456789abcdef"), API_TICKET_SIZE);
	assert_true(api_tickets_redeem(t, span_of(second), PATH, 2, &got));
	assert_string_equal(got.project_id, "default");
	assert_memory_equal(got.key_hash, sample.key_hash, sizeof(got.key_hash));
	assert_false(api_tickets_redeem(t, span_of(second), PATH, 2, &got));
	assert_true(api_tickets_redeem(t, span_of(first), PATH, 2, &got));
	api_tickets_free(t);
}

TEST(a_ticket_is_good_for_a_minute_and_for_its_path)
{
	struct api_tickets *t = api_tickets_new();
	char text[API_TICKET_SIZE + 1];
	struct api_ticket got;

	api_tickets_issue(t, &sample, 1, text);
	assert_false(api_tickets_redeem(t, span_of(text), PATH, 1 + API_TICKET_MS, &got));
	api_tickets_issue(t, &sample, 1, text);
	assert_false(api_tickets_redeem(t, span_of(text), "/other", 2, &got));
	assert_false(api_tickets_redeem(t, span_of(text), PATH, 2, &got));
	api_tickets_free(t);
}

TEST(what_is_no_ticket_opens_nothing)
{
	static const char zeros[] =
	        "0000000000000000000000000000000000000000000000000000000000000000";
	struct api_tickets *t = api_tickets_new();
	struct api_ticket got;
	const char *texts[] = {"", "0", zeros, zeros + 1,
	                       "zz00000000000000000000000000000000000000000000000000000000000000"};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_false(api_tickets_redeem(t, span_of(texts[i]), "", 0, &got));
	api_tickets_free(t);
	api_tickets_free(NULL);
}

TEST(when_there_is_no_room_the_oldest_gives_way)
{
	struct api_tickets *t = api_tickets_new();
	char first[API_TICKET_SIZE + 1], second[API_TICKET_SIZE + 1], text[API_TICKET_SIZE + 1];
	struct api_ticket got;

	api_tickets_issue(t, &sample, 1, first);
	api_tickets_issue(t, &sample, 1, second);
	for (unsigned i = 0; i < API_TICKETS_MAX - 1; i++)
		api_tickets_issue(t, &sample, 1, text);
	assert_false(api_tickets_redeem(t, span_of(first), PATH, 2, &got));
	assert_true(api_tickets_redeem(t, span_of(second), PATH, 2, &got));
	assert_true(api_tickets_redeem(t, span_of(text), PATH, 2, &got));
	api_tickets_free(t);
}

int main(void)
{
	return RUN(CASE(a_ticket_is_good_once),
	           CASE(a_ticket_is_good_for_a_minute_and_for_its_path),
	           CASE(what_is_no_ticket_opens_nothing),
	           CASE(when_there_is_no_room_the_oldest_gives_way));
}
