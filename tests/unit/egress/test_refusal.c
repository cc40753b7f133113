/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "egress/refusal.h"
#include "sandbox/decision.h"
#include "unit.h"

static const struct network_decision sample = {.host = "api.example.com",
                                               .port = 80,
                                               .protocol = DECISION_HTTP,
                                               .code = DECISION_HOST_NOT_ALLOWED,
                                               .count = 1};

TEST(a_program_and_a_model_read_what_was_refused)
{
	AUTO(buf_done) struct buf out = BUF(32768);
	const char *text;

	refusal_write(&out, &sample, SPAN("GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"));
	text = buf_text(&out);
	assert_ptr_equal(strstr(text, "HTTP/1.1 403 Refused by sandbox network rules\r\n"), text);
	assert_non_null(strstr(text, "X-Atoll-Refused: host-not-allowed\r\n"));
	assert_non_null(strstr(text, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(text, "{\"error\":\"Refused: api.example.com:80 from this sandbox"));
	assert_non_null(strstr(text, "request_access"));
	assert_non_null(strstr(text, "\"code\":\"host-not-allowed\",\"host\":\"api.example.com\""));
}

TEST(git_gets_lines_of_text)
{
	AUTO(buf_done) struct buf out = BUF(32768);

	refusal_write(&out, &sample, SPAN("GET / HTTP/1.1\r\nUser-Agent: git/2.39\r\n\r\n"));
	assert_non_null(strstr(buf_text(&out), "Content-Type: text/plain\r\n"));
	assert_non_null(strstr(buf_text(&out), "\r\n\r\nRefused: api.example.com:80"));
}

TEST(a_host_that_does_not_answer_is_no_policy)
{
	AUTO(buf_done) struct buf out = BUF(32768);
	struct network_decision d = sample;

	d.code = DECISION_UPSTREAM_UNREACHABLE;
	refusal_write(&out, &d, SPAN(""));
	assert_non_null(strstr(buf_text(&out), "HTTP/1.1 502 "));
	assert_non_null(strstr(buf_text(&out), "\"retry\":true"));
	assert_null(strstr(buf_text(&out), "request_access"));
}

TEST(a_quota_that_is_used_up_is_no_rule_to_ask_about)
{
	AUTO(buf_done) struct buf out = BUF(32768);
	struct network_decision d = sample;

	decision_set_cut(&d, SPAN("egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z"));
	refusal_write(&out, &d, SPAN(""));
	assert_non_null(strstr(buf_text(&out), "HTTP/1.1 403 Quota of sent bytes used up\r\n"));
	assert_non_null(strstr(buf_text(&out), "X-Atoll-Refused: quota\r\n"));
	assert_non_null(strstr(buf_text(&out), "50 MB a day"));
	assert_non_null(strstr(buf_text(&out), "\"retry\":false"));
	assert_null(strstr(buf_text(&out), "request_access"));
}

int main(void)
{
	return RUN(CASE(a_program_and_a_model_read_what_was_refused), CASE(git_gets_lines_of_text),
	           CASE(a_host_that_does_not_answer_is_no_policy),
	           CASE(a_quota_that_is_used_up_is_no_rule_to_ask_about));
}
