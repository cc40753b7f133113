/* SPDX-License-Identifier: Apache-2.0 */
/* What a row says: cut arguments, head and tail of the output, encodings, reports. */
#include "activity_test.h"

#include <stdio.h>

static struct activity_note *begin(void)
{
	open_log(&(struct activity_log_options){.interval_ms = 3600000});
	return begin_in("box");
}

static struct activity_record end(struct activity_note *n)
{
	activity_end(n);
	close_log();
	return only_row();
}

static void a_row_says_who_what_and_how_it_ended(void **state)
{
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	activity_add_text(n, span_of("ls -l"));
	activity_add_output(n, span_of("total 0\n"));
	activity_report(n, &(struct activity_result){ACTIVITY_FAILED, 2, 17, "out of memory"});
	r = end(n);
	assert_string_equal(r.project_id, "default");
	assert_string_equal(r.sandbox_id, "box");
	assert_string_equal(r.key_id, "key");
	assert_string_equal(r.user_id, "");
	assert_string_equal(r.conversation, "");
	assert_string_equal(r.operation, "exec");
	assert_string_equal(r.arguments, "ls -l");
	assert_string_equal(r.head, "total 0\n");
	assert_string_equal(r.tail, "");
	assert_string_equal(r.encoding, "");
	assert_string_equal(r.error, "out of memory");
	assert_int_equal(r.outcome, ACTIVITY_FAILED);
	assert_int_equal(r.exit_code, 2);
	assert_int_equal(r.duration_ms, 17);
	assert_int_equal(r.output_bytes, 8);
	assert_true(r.written_at >= r.at);
}

static void a_note_without_a_report_is_unknown(void **state)
{
	struct activity_record r = end(begin());

	(void)state;
	assert_int_equal(r.outcome, ACTIVITY_UNKNOWN);
	assert_int_equal(r.exit_code, -1);
	assert_true(r.duration_ms >= 0);
}

static void a_forgotten_note_leaves_no_row(void **state)
{
	(void)state;
	activity_forget(begin());
	close_log();
	assert_int_equal(rows_of(NULL).count, 0);
}

static void arguments_are_cut_between_characters(void **state)
{
	char text[ACTIVITY_ARGUMENTS_MAX + 8];
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + ACTIVITY_ARGUMENTS_MAX - 1, "\xe2\x82\xac", 3); /* a euro on the border */
	activity_add_text(n, (struct span){text, sizeof(text)});
	activity_add_text(n, span_of("more"));
	r = end(n);
	assert_int_equal(strlen(r.arguments), ACTIVITY_ARGUMENTS_MAX - 1);
	assert_null(strpbrk(r.arguments, "\xe2m"));
}

static void words_are_quoted_as_for_a_shell(void **state)
{
	struct activity_note *n = begin();

	(void)state;
	activity_add_word(n, "printf");
	activity_add_word(n, "a b");
	activity_add_word(n, "it's");
	activity_add_word(n, "");
	activity_add_word(n, "--x=1");
	assert_string_equal(end(n).arguments, "printf 'a b' 'it'\\''s' '' --x=1");
}

static void bytes_that_are_no_text_become_question_marks(void **state)
{
	struct activity_note *n = begin();

	(void)state;
	activity_add_text(n, (struct span){"a\xff\0\xc3\xa9z", 6});
	assert_string_equal(end(n).arguments, "a??\xc3\xa9z");
}

static void output_keeps_its_first_and_last_kib(void **state)
{
	char text[5000];
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	memset(text, 'm', sizeof(text));
	memset(text, 'a', ACTIVITY_OUTPUT_MAX);
	memset(text + sizeof(text) - ACTIVITY_OUTPUT_MAX, 'z', ACTIVITY_OUTPUT_MAX);
	for (size_t at = 0; at < sizeof(text); at += 100)
		activity_add_output(n, (struct span){text + at, 100});
	r = end(n);
	assert_int_equal(strlen(r.head), ACTIVITY_OUTPUT_MAX);
	assert_int_equal(strlen(r.tail), ACTIVITY_OUTPUT_MAX);
	assert_int_equal(strspn(r.head, "a"), ACTIVITY_OUTPUT_MAX);
	assert_int_equal(strspn(r.tail, "z"), ACTIVITY_OUTPUT_MAX);
	assert_int_equal(r.output_bytes, sizeof(text));
}

static void output_between_one_and_two_kib_is_whole(void **state)
{
	char text[1500], joined[1501];
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + ACTIVITY_OUTPUT_MAX - 1, "\xe2\x82\xac", 3);
	activity_add_output(n, (struct span){text, sizeof(text)});
	r = end(n);
	assert_string_equal(r.encoding, "");
	assert_int_equal(strlen(r.head), ACTIVITY_OUTPUT_MAX - 1);
	(void)snprintf(joined, sizeof(joined), "%s%s", r.head, r.tail);
	assert_memory_equal(joined, text, sizeof(text));
}

static void output_that_is_no_text_is_base64(void **state)
{
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	activity_add_output(n, (struct span){"\0\xff", 2});
	r = end(n);
	assert_string_equal(r.encoding, "base64");
	assert_string_equal(r.head, "AP8=");
	assert_string_equal(r.tail, "");
	assert_int_equal(r.output_bytes, 2);
}

static void a_tail_of_which_the_begin_is_gone_is_a_tail(void **state)
{
	struct activity_note *n = begin();
	struct activity_record r;

	(void)state;
	activity_set_tail(n, span_of("\x82\xac the end"), 90000);
	r = end(n);
	assert_string_equal(r.head, "");
	assert_string_equal(r.tail, " the end");
	assert_int_equal(r.output_bytes, 90000);
}

static void artifacts_beyond_the_bound_are_left_out_whole(void **state)
{
	struct activity_note *n = begin();
	struct activity_record r;
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		activity_add_artifact(n, "0123456789abcdefghij", "out/figure.png");
	r = end(n);
	size = strlen(r.artifacts_json);
	assert_in_range(size, ACTIVITY_ARTIFACTS_MAX / 2, ACTIVITY_ARTIFACTS_MAX);
	assert_int_equal(r.artifacts_json[0], '[');
	assert_string_equal(r.artifacts_json + size - 2, "}]");
	assert_null(strstr(r.artifacts_json, "}{"));
}

static const struct CMUnitTest tests[] = {
        ON_LOG(a_row_says_who_what_and_how_it_ended),
        ON_LOG(a_note_without_a_report_is_unknown),
        ON_LOG(a_forgotten_note_leaves_no_row),
        ON_LOG(arguments_are_cut_between_characters),
        ON_LOG(words_are_quoted_as_for_a_shell),
        ON_LOG(bytes_that_are_no_text_become_question_marks),
        ON_LOG(output_keeps_its_first_and_last_kib),
        ON_LOG(output_between_one_and_two_kib_is_whole),
        ON_LOG(output_that_is_no_text_is_base64),
        ON_LOG(a_tail_of_which_the_begin_is_gone_is_a_tail),
        ON_LOG(artifacts_beyond_the_bound_are_left_out_whole),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
