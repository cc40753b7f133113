/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/lease.h"

#define NOW INT64_C(1790000000000)
#define LATE (NOW - LEASE_CREATING_MAX_MS - 1)

TEST(a_key_is_any_text_that_can_stand_in_a_path)
{
	char longest[LEASE_KEY_MAX + 2];
	static const char *const good[] = {"a",        "user:42", "a/b", "with space",
	                                   "\xc3\xa9", "a..b",    "...", "%2e"};
	static const char *const bad[] = {"",    "a\nb", "\x7f",   "..",   ".",
	                                  "a/.", "../a", "a/../b", "\xff", "\xc3"};
	struct error err;

	memset(longest, 'k', sizeof(longest));
	longest[LEASE_KEY_MAX] = '\0';
	assert_int_equal(lease_key_check(longest, &err), 0);
	longest[LEASE_KEY_MAX] = 'k';
	longest[LEASE_KEY_MAX + 1] = '\0';
	assert_int_equal(lease_key_check(longest, &err), -1);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (lease_key_check(good[i], &err) < 0)
			fail_msg("refused: '%s'", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err = (struct error){0};
		if (lease_key_check(bad[i], &err) == 0)
			fail_msg("accepted: %zu", i);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.hint, "256"));
	}
}

TEST(a_session_is_a_key_and_back)
{
	static const struct {
		const char *tenant, *session, *key;
	} rows[] = {
	        {"acme", "chat-1", "session:acme/chat-1"},
	        {"a/b", "c%d", "session:a%2Fb/c%25d"},
	        {".", "..", "session:%2E/%2E%2E"},
	        {"...", " x", "session:.../ x"},
	        {"\n\x7f", "\xc3\xa9", "session:%0A%7F/\xc3\xa9"},
	};
	static const char *const none[] = {"session:a",     "session:/b",   "session:a/",
	                                   "session:a/b/c", "session:a/%2", "session:a/%zz",
	                                   "session:a/%00", "workspace:1/2"};
	AUTO(arena_done) struct arena a = {0};
	char longest[129] = {0};
	struct lease_session found;
	struct error err;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct lease_session session = {rows[i].tenant, rows[i].session};
		const char *key = lease_session_key(&a, &session);

		assert_string_equal(key, rows[i].key);
		assert_int_equal(lease_key_check(key, &err), 0);
		assert_true(lease_session_parse(&a, key, &found));
		assert_string_equal(found.tenant, rows[i].tenant);
		assert_string_equal(found.session, rows[i].session);
	}
	for (size_t i = 0; i < COUNT_OF(none); i++)
		assert_false(lease_session_parse(&a, none[i], &found));
	memset(longest, '/', 128);
	assert_int_equal(
	        lease_key_check(lease_session_key(&a, &(struct lease_session){longest, longest}),
	                        &err),
	        0);
}

static const struct {
	const char *what;
	struct lease_view view;
	enum lease_action action;
} cases[] = {
        {"warm", {LEASE_READY, SANDBOX_STARTED, LATE}, LEASE_USE},
        {"paused", {LEASE_READY, SANDBOX_PAUSED, LATE}, LEASE_USE},
        {"made, not told, paused", {LEASE_CREATING, SANDBOX_PAUSED, LATE}, LEASE_ADOPT},
        {"stopped", {LEASE_READY, SANDBOX_STOPPED, LATE}, LEASE_START},
        {"being started", {LEASE_READY, SANDBOX_CREATING, LATE}, LEASE_WAIT},
        {"being stopped", {LEASE_READY, SANDBOX_STOPPING, LATE}, LEASE_WAIT},
        {"failed", {LEASE_READY, SANDBOX_FAILED, LATE}, LEASE_MAKE},
        {"being deleted", {LEASE_READY, SANDBOX_DELETING, LATE}, LEASE_MAKE},
        {"deleted", {LEASE_READY, SANDBOX_DELETED, LATE}, LEASE_MAKE},
        {"empty", {LEASE_EMPTY, SANDBOX_DELETED, LATE}, LEASE_MAKE},
        {"claimed", {LEASE_CREATING, SANDBOX_DELETED, NOW}, LEASE_WAIT},
        {"claimed and made", {LEASE_CREATING, SANDBOX_STARTED, NOW}, LEASE_WAIT},
        {"claimed and failed", {LEASE_CREATING, SANDBOX_FAILED, NOW}, LEASE_WAIT},
        {"claimed for just as long as allowed",
         {LEASE_CREATING, SANDBOX_DELETED, NOW - LEASE_CREATING_MAX_MS},
         LEASE_WAIT},
        {"claimed for too long", {LEASE_CREATING, SANDBOX_DELETED, LATE}, LEASE_TAKE_OVER},
        {"half made for too long", {LEASE_CREATING, SANDBOX_CREATING, LATE}, LEASE_TAKE_OVER},
        {"failed for too long", {LEASE_CREATING, SANDBOX_FAILED, LATE}, LEASE_TAKE_OVER},
        {"made and not told", {LEASE_CREATING, SANDBOX_STARTED, LATE}, LEASE_ADOPT},
        {"made, not told, stopped", {LEASE_CREATING, SANDBOX_STOPPED, LATE}, LEASE_ADOPT},
};

TEST(every_view_of_a_lease_leads_to_its_action)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (lease_decide(&cases[i].view, NOW) != cases[i].action)
			fail_msg("%s", cases[i].what);
}

TEST(only_failures_that_can_be_the_sandboxs_are_looked_into)
{
	assert_true(lease_error_may_mean_gone(ERROR_NOT_FOUND));
	assert_true(lease_error_may_mean_gone(ERROR_UNAVAILABLE));
	assert_false(lease_error_may_mean_gone(ERROR_NONE));
	assert_false(lease_error_may_mean_gone(ERROR_INVALID));
	assert_false(lease_error_may_mean_gone(ERROR_LIMIT));
	assert_false(lease_error_may_mean_gone(ERROR_CODE_COUNT));
}

int main(void)
{
	return RUN(CASE(a_key_is_any_text_that_can_stand_in_a_path),
	           CASE(a_session_is_a_key_and_back),
	           CASE(every_view_of_a_lease_leads_to_its_action),
	           CASE(only_failures_that_can_be_the_sandboxs_are_looked_into));
}
