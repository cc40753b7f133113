/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "dockerfile/dockerfile.h"

static struct arena arena;
static struct error err;

static const char *translate(const char *text, const char *const *build_args)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20), notes = BUF(1 << 16);
	const struct dockerfile file = {
	        .name = "D", .text = span_of(text), .build_args = build_args};

	err = (struct error){0};
	if (dockerfile_translate(&arena, &file, &out, &notes, &err) < 0)
		return NULL;
	return arena_copy(&arena, buf_span(&out));
}

/* The steps of a file that begins with FROM host. */
static void assert_steps(const char *lines, const char *steps)
{
	const char *got = translate(arena_format(&arena, "FROM host\n%s", lines), NULL);

	if (!got)
		fail_msg("%s: %s", lines, err.text);
	assert_string_equal(got, arena_format(&arena, "{\"from\":\"host\",\"steps\":[%s]}", steps));
}

static void assert_refused(const char *text, const char *says)
{
	const char *got = translate(text, NULL);

	if (got)
		fail_msg("%s is taken as %s", text, got);
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

static const char *word(const char *text, const struct docker_variables *vars, size_t index)
{
	const char **words;

	if (docker_words(&arena, text, vars, false, &words, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	for (size_t i = 0; i < index && words[i]; i++)
		;
	return words[index];
}

TEST(words_have_quotes_backslashes_and_variables)
{
	struct docker_variables vars = {0};
	const char **words;

	docker_variable_set(&arena, &vars, &(struct docker_variable){"A", "x y", false});
	docker_variable_set(&arena, &vars, &(struct docker_variable){"E", "", false});
	assert_string_equal(word("a  b", &vars, 1), "b");
	assert_string_equal(word("'a b'\"c $A\"d", &vars, 0), "a bc x yd");
	assert_string_equal(word("'$A' \\$A $A", &vars, 0), "$A");
	assert_string_equal(word("'$A' \\$A $A", &vars, 1), "$A");
	/* What a variable holds is not split. */
	assert_string_equal(word("'$A' \\$A $A", &vars, 2), "x y");
	assert_string_equal(word("${A}b ${N:-none} ${E:-empty} ${A:+is} ${N:+is}", &vars, 0),
	                    "x yb");
	assert_string_equal(word("${N:-none}", &vars, 0), "none");
	assert_string_equal(word("${E:-empty}", &vars, 0), "empty");
	assert_string_equal(word("${A:+is}", &vars, 0), "is");
	assert_string_equal(word("\"\"", &vars, 0), "");
	assert_string_equal(word("a$ $-", &vars, 0), "a$");
	assert_int_equal(docker_words(&arena, "${A", &vars, false, &words, &err), -1);
	assert_int_equal(docker_words(&arena, "'a", &vars, false, &words, &err), -1);
	assert_int_equal(docker_words(&arena, "\"a", &vars, false, &words, &err), -1);
	assert_int_equal(docker_words(&arena, "a  b ", &vars, true, &words, &err), 0);
	assert_string_equal(words[0], "a  b ");
}

TEST(each_instruction_becomes_its_step)
{
	assert_steps("RUN a && b", "{\"type\":\"run\",\"command\":\"a && b\"}");
	assert_steps("run [\"a\", \"b c\"]", "{\"type\":\"run\",\"args\":[\"a\",\"b c\"]}");
	assert_steps("RUN [ -f x ]", "{\"type\":\"run\",\"command\":\"[ -f x ]\"}");
	assert_steps("RUN a \\\n# no\n\n  b", "{\"type\":\"run\",\"command\":\"a   b\"}");
	assert_steps("ENV A=1 B='x y'", "{\"type\":\"env\",\"env\":{\"A\":\"1\",\"B\":\"x y\"}}");
	assert_steps("ENV A some text", "{\"type\":\"env\",\"env\":{\"A\":\"some text\"}}");
	assert_steps("ENV A=1\nWORKDIR /x/$A\nUSER me",
	             "{\"type\":\"env\",\"env\":{\"A\":\"1\"}},{\"type\":\"workdir\",\"path\":\"/x/"
	             "1\"},{\"type\":\"user\",\"user\":\"me\"}");
	assert_steps("COPY --chown=me --chmod=640 a b /c/",
	             "{\"type\":\"copy\",\"source\":[\"a\",\"b\"],\"path\":\"/c/\",\"user\":\"me\","
	             "\"mode\":\"640\",\"at\":\"D:2\"}");
	assert_steps("COPY [\"a b\", \"c\"]",
	             "{\"type\":\"copy\",\"source\":[\"a b\"],\"path\":\"c\",\"at\":\"D:2\"}");
	assert_steps("LABEL a=b\nMAINTAINER me", "");
}

TEST(arguments_are_the_commands_and_not_the_templates)
{
	static const char *const given[] = {"V=9", NULL};

	assert_steps("ARG V=1\nRUN x",
	             "{\"type\":\"run\",\"command\":\"x\",\"env\":{\"V\":\"1\"}}");
	assert_steps(
	        "ARG V=1\nENV V=2\nRUN x",
	        "{\"type\":\"env\",\"env\":{\"V\":\"2\"}},{\"type\":\"run\",\"command\":\"x\"}");
	assert_steps(
	        "ENV V=2\nARG V=1\nWORKDIR /$V",
	        "{\"type\":\"env\",\"env\":{\"V\":\"2\"}},{\"type\":\"workdir\",\"path\":\"/2\"}");
	assert_steps("ARG V\nRUN x", "{\"type\":\"run\",\"command\":\"x\"}");
	assert_string_equal(translate("ARG V=host\nFROM $V\nRUN x", NULL),
	                    "{\"from\":\"host\",\"steps\":[{\"type\":\"run\",\"command\":\"x\"}]}");
	assert_non_null(strstr(translate("ARG V=1\nFROM host\nARG V\nRUN x", given),
	                       "\"env\":{\"V\":\"9\"}"));
	assert_null(translate("FROM host\nRUN x", given));
	assert_non_null(strstr(err.text, "D has no ARG for"));
}

TEST(entrypoint_and_command_are_joined_as_with_docker)
{
	static const struct {
		const char *lines, *entrypoint;
	} cases[] = {
	        {"CMD [\"a\",\"b\"]", "[\"a\",\"b\"]"},
	        {"CMD a b", "[\"/bin/sh\",\"-c\",\"a b\"]"},
	        {"ENTRYPOINT [\"a\"]\nCMD [\"b\"]", "[\"a\",\"b\"]"},
	        {"ENTRYPOINT a\nCMD [\"b\"]", "[\"/bin/sh\",\"-c\",\"a\"]"},
	        {"CMD [\"b\"]\nENTRYPOINT [\"a\"]", "[\"a\"]"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *got =
		        translate(arena_format(&arena, "FROM host\n%s", cases[i].lines), NULL);

		assert_non_null(got);
		assert_non_null(strstr(
		        got, arena_format(&arena, "\"entrypoint\":%s}", cases[i].entrypoint)));
	}
	assert_steps("CMD [\"/bin/bash\"]", "");
	assert_non_null(strstr(
	        translate("FROM host\nHEALTHCHECK --retries=3 CMD [\"a\",\"it's\"]\nCMD x", NULL),
	        "\"ready\":\"'a' 'it'\\\\''s'\""));
	assert_null(strstr(translate("FROM host\nCMD x\nHEALTHCHECK CMD a\nHEALTHCHECK NONE", NULL),
	                   "ready"));
	assert_non_null(
	        strstr(translate("FROM host\nEXPOSE 80 90-91/tcp 5/udp", NULL), "[80,90,91]"));
}

TEST(what_cannot_be_is_told_with_its_line)
{
	assert_refused("", "no FROM");
	assert_refused("RUN x", "D:1: FROM must come before RUN");
	assert_refused("FROM a/b", "is an image");
	assert_refused("FROM host\n\n\nFROM host", "D:4: a second FROM");
	assert_refused("FROM --platform=x host", "an option of FROM");
	assert_refused("FROM host\nRUN", "D:2: RUN: takes a command");
	assert_refused("FROM host\nCOPY a", "takes sources and a target");
	assert_refused("FROM host\nCOPY --link a b", "the option --link");
	assert_refused("FROM host\nENV =x", "a variable has no name");
	assert_refused("FROM host\nEXPOSE 0", "port");
	assert_refused("FROM host\nEXPOSE 90-80", "port");
	assert_refused("FROM host\nEXPOSE 1-65535", "more than 64 ports");
	assert_refused("FROM host\nHEALTHCHECK x", "takes CMD");
	assert_refused("FROM host\nONBUILD RUN x", "ONBUILD");
	assert_refused("FROM host\nSTOPSIGNAL 9", "STOPSIGNAL");
	assert_refused("FROM host\nRUN \\", "ends with a backslash");
}

TEST(an_image_may_be_named_and_files_be_missing)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16), notes = BUF(1 << 12);
	struct dockerfile file = {.name = "D",
	                          .text = SPAN("FROM python:3.12-slim\nRUN x"),
	                          .may_name_image = true,
	                          .has_no_files = true};

	err = (struct error){0};
	assert_int_equal(dockerfile_translate(&arena, &file, &out, &notes, &err), 0);
	assert_string_equal(buf_text(&out), "{\"from\":\"python:3.12-slim\",\"steps\":[{\"type\":"
	                                    "\"run\",\"command\":\"x\"}]}");
	file.text = SPAN("FROM host\nCOPY a b");
	assert_int_equal(dockerfile_translate(&arena, &file, &out, &notes, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "COPY without the files"));
}

int main(void)
{
	int failures = RUN(CASE(words_have_quotes_backslashes_and_variables),
	                   CASE(each_instruction_becomes_its_step),
	                   CASE(arguments_are_the_commands_and_not_the_templates),
	                   CASE(entrypoint_and_command_are_joined_as_with_docker),
	                   CASE(what_cannot_be_is_told_with_its_line),
	                   CASE(an_image_may_be_named_and_files_be_missing));

	arena_done(&arena);
	return failures;
}
