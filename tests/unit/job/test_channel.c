/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "job/channel.h"
#include "job/job.h"
#include "store/channels.h"

static struct job_record ended(const char *stdout_json)
{
	return (struct job_record){.id = "job",
	                           .state = JOB_COMPLETED,
	                           .command = "make",
	                           .reason = "",
	                           .stdout_json = stdout_json,
	                           .stderr_json = "\"err\"",
	                           .created_at = 1000,
	                           .ended_at = 3400};
}

static const char *text_of(struct arena *a, enum job_channel channel, const char *stdout_json)
{
	const struct job_record r = ended(stdout_json);

	return channel_text(a, channel_kind_find(channel), &r);
}

TEST(a_message_tells_what_ended_how_and_what_it_wrote)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(text_of(&a, JOB_CHANNEL_ZALO, "\"out\\n\\n\""),
	                    "Background job completed (2 s): make\nresultId job\n\nout");
	assert_string_equal(text_of(&a, JOB_CHANNEL_GITHUB, "\"out\\n\""),
	                    "Background job completed (2 s): make\nresultId job\n```\nout\n```");
	/* Without output there is the other one; without any there is none. */
	assert_non_null(strstr(text_of(&a, JOB_CHANNEL_ZALO, "\"\""), "\n\nerr"));
	assert_non_null(strstr(text_of(&a, JOB_CHANNEL_ZALO, ""), "\n\nerr"));
}

TEST(control_characters_and_fences_do_not_get_out)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text =
	        text_of(&a, JOB_CHANNEL_GITHUB, "\"a\\u0000\\u001b[1m````b\\tc\\\\u0000\"");

	assert_non_null(strstr(
	        text,
	        "```\na\xef\xbf\xbd[1m`\xe2\x80\x8b`\xe2\x80\x8b`\xe2\x80\x8b`b\tc\\u0000\n```"));
}

TEST(no_message_is_longer_than_its_service_takes)
{
	static const enum job_channel channels[] = {JOB_CHANNEL_SLACK,    JOB_CHANNEL_DISCORD,
	                                            JOB_CHANNEL_TELEGRAM, JOB_CHANNEL_GITHUB,
	                                            JOB_CHANNEL_ZALO,     JOB_CHANNEL_PANCAKE};
	static const char *const letters[] = {"x", "é", "\xf0\x9f\x98\x80", "`", "&"};

	for (size_t l = 0; l < COUNT_OF(letters); l++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(buf_done) struct buf json = BUF(1 << 20);

		buf_add_byte(&json, '"');
		for (int i = 0; i < 70000; i++)
			buf_add_text(&json, letters[l]);
		buf_add_text(&json, "!\"");
		for (size_t i = 0; i < COUNT_OF(channels); i++) {
			const struct channel_kind *kind = channel_kind_find(channels[i]);
			const char *text = text_of(&a, channels[i], buf_text(&json));
			size_t units = channel_text_units(text);

			assert_true(units <= kind->text_max);
			assert_true(units > kind->text_max - 8);
			assert_non_null(strchr(text, '!'));
			assert_non_null(strstr(text, "…"));
		}
	}
}

static struct error try_channel(enum job_channel kind, const char *token, const char *base_url)
{
	const struct channel_record r = {
	        .name = "name", .kind = kind, .token = token, .base_url = base_url};
	struct error err = {0};

	if (job_channel_check(&r, false, &err) == 0)
		assert_int_equal(err.code, ERROR_NONE);
	return err;
}

TEST(a_token_that_would_break_a_request_is_refused)
{
	assert_int_equal(try_channel(JOB_CHANNEL_SLACK, "xoxb-12345", "").code, ERROR_NONE);
	assert_int_equal(try_channel(JOB_CHANNEL_TELEGRAM, "123:AB-c_d", "").code, ERROR_NONE);
	assert_int_equal(try_channel(JOB_CHANNEL_TELEGRAM, "123:AB/c_d", "").code, ERROR_INVALID);
	assert_int_equal(try_channel(JOB_CHANNEL_SLACK, "short", "").code, ERROR_INVALID);
	assert_int_equal(try_channel(JOB_CHANNEL_SLACK, "x\r\nHost: y", "").code, ERROR_INVALID);
	assert_int_equal(try_channel(JOB_CHANNEL_WEBHOOK, "xoxb-12345", "").code, ERROR_INVALID);
	assert_int_equal(try_channel(JOB_CHANNEL_SLACK, "xoxb-12345", "http://127.0.0.1").code,
	                 ERROR_FORBIDDEN);
	assert_int_equal(try_channel(JOB_CHANNEL_SLACK, "xoxb-12345", "https://x.org/").code,
	                 ERROR_INVALID);
}

static struct channel_outcome judge(enum job_channel channel, int status, int64_t retry_after_s,
                                    const char *answer)
{
	AUTO(arena_done) struct arena a = {0};
	struct channel_outcome o = channel_judge(&a, channel_kind_find(channel), status,
	                                         retry_after_s, span_of(answer));

	o.error = NULL;
	return o;
}

TEST(a_service_that_asks_to_wait_is_waited_for)
{
	static const char telegram[] =
	        "{\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":35}}";
	struct channel_outcome o = judge(JOB_CHANNEL_SLACK, 429, 30, "");

	assert_false(o.is_delivered || o.is_final);
	assert_int_equal(o.wait_ms, 30000);
	assert_int_equal(judge(JOB_CHANNEL_TELEGRAM, 429, 0, telegram).wait_ms, 35000);
	assert_int_equal(judge(JOB_CHANNEL_TELEGRAM, 429, 40, telegram).wait_ms, 40000);
	/* GitHub's secondary limits. */
	o = judge(JOB_CHANNEL_GITHUB, 403, 60, "{}");
	assert_false(o.is_final);
	assert_int_equal(o.wait_ms, 60000);
	/* Without a word of how long, as after other failures; and never for ever. */
	o = judge(JOB_CHANNEL_DISCORD, 429, 0, "{}");
	assert_false(o.is_final);
	assert_int_equal(o.wait_ms, 0);
	assert_int_equal(judge(JOB_CHANNEL_DISCORD, 429, INT64_MAX, "").wait_ms,
	                 CHANNEL_WAIT_MAX_MS);
	assert_int_equal(judge(JOB_CHANNEL_DISCORD, 429, -1, "").wait_ms, 0);
	assert_int_equal(judge(JOB_CHANNEL_TELEGRAM, 429, 0, "{\"parameters\":7}").wait_ms, 0);
}

TEST(what_another_try_would_not_change_is_final)
{
	assert_true(judge(JOB_CHANNEL_GITHUB, 403, 0, "{}").is_final);
	assert_true(judge(JOB_CHANNEL_GITHUB, 404, 0, "{}").is_final);
	assert_false(judge(JOB_CHANNEL_GITHUB, 502, 0, "").is_final);
	assert_true(judge(JOB_CHANNEL_GITHUB, 201, 0, "").is_delivered);
	assert_true(judge(JOB_CHANNEL_SLACK, 200, 0, "{\"ok\":true}").is_delivered);
	assert_false(judge(JOB_CHANNEL_SLACK, 200, 0, "no JSON").is_delivered);
	assert_true(judge(JOB_CHANNEL_SLACK, 200, 0, "{\"ok\":false}").is_final);
	assert_true(judge(JOB_CHANNEL_ZALO, 200, 0, "{\"error\":0}").is_delivered);
	assert_false(judge(JOB_CHANNEL_ZALO, 200, 0, "{\"error\":-216}").is_delivered);
	assert_true(judge(JOB_CHANNEL_PANCAKE, 200, 0, "{\"success\":true}").is_delivered);
}

int main(void)
{
	return RUN(CASE(a_message_tells_what_ended_how_and_what_it_wrote),
	           CASE(control_characters_and_fences_do_not_get_out),
	           CASE(no_message_is_longer_than_its_service_takes),
	           CASE(a_token_that_would_break_a_request_is_refused),
	           CASE(a_service_that_asks_to_wait_is_waited_for),
	           CASE(what_another_try_would_not_change_is_final));
}
