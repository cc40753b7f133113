/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "sandbox/sandbox.h"

#define NOW 1000000

static const struct {
	const char *what;
	struct sandbox_expiry expiry;
	enum sandbox_reason due;
} cases[] = {
        {"nothing set", {.created_at = 1}, SANDBOX_REASON_NONE},
        {"idle for less",
         {.created_at = 1, .last_activity_at = NOW - 99, .idle_reap_ms = 100},
         SANDBOX_REASON_NONE},
        {"idle for as long",
         {.created_at = 1, .last_activity_at = NOW - 100, .idle_reap_ms = 100},
         SANDBOX_REASON_IDLE},
        {"never used", {.created_at = NOW - 100, .idle_reap_ms = 100}, SANDBOX_REASON_IDLE},
        {"never used, new", {.created_at = NOW - 99, .idle_reap_ms = 100}, SANDBOX_REASON_NONE},
        {"idle but busy",
         {.created_at = 1, .last_activity_at = 1, .idle_reap_ms = 100, .busy = true},
         SANDBOX_REASON_NONE},
        {"idle but persistent",
         {.created_at = 1, .last_activity_at = 1, .idle_reap_ms = 100, .persistent = true},
         SANDBOX_REASON_NONE},
        {"lifetime", {.created_at = NOW - 10, .lifetime_max_ms = 10}, SANDBOX_REASON_LIFETIME},
        {"lifetime, busy and persistent",
         {.created_at = NOW - 10, .lifetime_max_ms = 10, .busy = true, .persistent = true},
         SANDBOX_REASON_LIFETIME},
        {"lifetime not over", {.created_at = NOW - 9, .lifetime_max_ms = 10}, SANDBOX_REASON_NONE},
        {"timeout",
         {.created_at = NOW - 9, .timeout_at = NOW, .busy = true},
         SANDBOX_REASON_LIFETIME},
        {"timeout not reached",
         {.created_at = NOW - 9, .timeout_at = NOW + 1},
         SANDBOX_REASON_NONE},
        {"endless durations",
         {.created_at = 1, .idle_reap_ms = INT64_MAX, .lifetime_max_ms = INT64_MAX},
         SANDBOX_REASON_NONE},
        {"activity in the future",
         {.created_at = 1, .last_activity_at = NOW + 500, .idle_reap_ms = 1},
         SANDBOX_REASON_NONE},
};

TEST(every_case_of_the_table_is_decided_as_it_says)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (sandbox_expiry_due(&cases[i].expiry, NOW) != cases[i].due)
			fail_msg("%s", cases[i].what);
}

int main(void)
{
	return RUN(CASE(every_case_of_the_table_is_decided_as_it_says));
}
