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
	assert_string_equal(
	        got, arena_format(&arena, "{\"from\":\"host\",\"image\":\"host\",\"steps\":[%s]}",
	                          steps));
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
	assert_steps("ENV A=1 B=2 A=3", "{\"type\":\"env\",\"env\":{\"B\":\"2\",\"A\":\"3\"}}");
	assert_steps("ENV PATH=/a:$PATH A=\"${PATH}\"\nENV PATH /b:${PATH:-none}",
	             "{\"type\":\"env\",\"env\":{\"PATH\":\"/a:${PATH}\",\"A\":\"${PATH}\"}},"
	             "{\"type\":\"env\",\"env\":{\"PATH\":\"/b:${PATH}\"}}");
	assert_steps("ENV A some text", "{\"type\":\"env\",\"env\":{\"A\":\"some text\"}}");
	assert_steps("ENV A=1\nWORKDIR /x/$A\nUSER me",
	             "{\"type\":\"env\",\"env\":{\"A\":\"1\"}},{\"type\":\"workdir\",\"path\":\"/x/"
	             "1\"},{\"type\":\"user\",\"user\":\"me\"}");
	assert_steps("COPY --chown=me --chmod=640 a b /c/",
	             "{\"type\":\"copy\",\"source\":[\"a\",\"b\"],\"path\":\"/c/\",\"user\":\"me\","
	             "\"mode\":\"640\",\"at\":\"D:2\"}");
	assert_steps("COPY [\"a b\", \"c\"]",
	             "{\"type\":\"copy\",\"source\":[\"a b\"],\"path\":\"c\",\"at\":\"D:2\"}");
	assert_steps("COPY --from=host --chown=1:me /a /b/* c",
	             "{\"type\":\"copy\",\"from\":\"@host\",\"paths\":[\"/a\",\"/b/*\"],"
	             "\"path\":\"c\",\"user\":\"1:me\"}],\"stages\":[{\"name\":\"@host\","
	             "\"from\":\"host\",\"image\":\"host\",\"steps\":[]}");
	assert_steps("SHELL [\"bash\", \"-c\"]\nRUN a b",
	             "{\"type\":\"run\",\"args\":[\"bash\",\"-c\",\"a b\"]}");
	assert_steps("COPY --link a b",
	             "{\"type\":\"copy\",\"source\":[\"a\"],\"path\":\"b\",\"at\":\"D:2\"}");
	assert_steps("USER me:us", "{\"type\":\"user\",\"user\":\"me:us\"}");
}

TEST(what_is_ignored_is_told_in_the_log)
{
	assert_steps("LABEL a=b\nMAINTAINER me\nSTOPSIGNAL 9\nONBUILD RUN x",
	             "],\"notes\":[\"D:2: labels are ignored\",\"D:3: MAINTAINER is ignored\","
	             "\"D:4: STOPSIGNAL is ignored: a stop sends SIGTERM, then SIGKILL\","
	             "\"D:5: ONBUILD is ignored: put the instruction into the Dockerfiles of "
	             "templates that begin with this one\"");
	assert_steps("VOLUME /a",
	             "{\"type\":\"folder\",\"path\":\"/a\"}],\"notes\":[\"D:2: VOLUME only makes "
	             "the folder; attach a volume to the sandbox: atoll run --volume NAME:PATH\"");
}

TEST(here_documents_are_commands_files_and_standard_input)
{
	assert_steps("RUN <<EOF\na\n# b\n\n  c \\\nEOF\nRUN d",
	             "{\"type\":\"run\",\"command\":\"a\\n# b\\n\\n  c "
	             "\\\\\\n\"},{\"type\":\"run\",\"command\":\"d\"}");
	assert_steps("RUN python3 - <<-'X' && y\n\tprint($1)\n\tX",
	             "{\"type\":\"run\",\"command\":\"python3 - <<-'X' && "
	             "y\\nprint($1)\\nX\\n\"}");
	assert_steps("RUN cat <<A <<B\n1\nA\n2\nB",
	             "{\"type\":\"run\",\"command\":\"cat <<A <<B\\n1\\nA\\n2\\nB\\n\"}");
	assert_steps("ENV N=v\nCOPY <<E /a\n$N \\$N ${M:-x} 'q'\nE",
	             "{\"type\":\"env\",\"env\":{\"N\":\"v\"}},{\"type\":\"write\",\"text\":\"v $N "
	             "x 'q'\\n\",\"path\":\"/a\"}");
	assert_steps("COPY --chmod=1 <<'F' <<G b/\n$x\nF\nG",
	             "{\"type\":\"write\",\"text\":\"$x\\n\",\"path\":\"b/F\",\"mode\":\"1\"},"
	             "{\"type\":\"write\",\"text\":\"\",\"path\":\"b/G\",\"mode\":\"1\"}");
	/* No here-documents. */
	assert_steps("RUN echo $((1<<2)) \"<<a\"",
	             "{\"type\":\"run\",\"command\":\"echo $((1<<2)) \\\"<<a\\\"\"}");
	assert_refused("FROM host\nRUN <<EOF\nx\n", "D:2: the here-document 'EOF' has no end");
	assert_refused("FROM host\nCOPY <<../a /b\n../a", "is not a file's name");
	assert_refused(arena_format(&arena, "FROM host\nRUN <<E\n%070000d\nE", 0),
	               "a command has at most");
}

TEST(stages_that_the_result_needs_are_kept)
{
	static const char text[] = "ARG B=host\nFROM $B AS one\nRUN 1\nCMD [\"x\"]\nFROM host\n"
	                           "RUN 2\nFROM one AS three\nCOPY --from=1 /a /b\nFROM $B AS "
	                           "four\nRUN 4";
	AUTO(buf_done) struct buf out = BUF(1 << 16), notes = BUF(1 << 12);
	struct dockerfile file = {.name = "D", .text = SPAN(text), .target = "THREE"};

	assert_string_equal(translate(text, NULL),
	                    "{\"from\":\"host\",\"image\":\"host\",\"steps\":[{\"type\":\"run\","
	                    "\"command\":\"4\"}]}");
	err = (struct error){0};
	assert_int_equal(dockerfile_translate(&arena, &file, &out, &notes, &err), 0);
	assert_string_equal(
	        buf_text(&out),
	        "{\"from\":\"one\",\"steps\":[{\"type\":\"copy\",\"from\":\"1\",\"paths\":[\"/"
	        "a\"],\"path\":\"/"
	        "b\"}],\"stages\":[{\"name\":\"one\",\"from\":\"host\",\"image\":\"host\","
	        "\"steps\":"
	        "[{\"type\":\"run\",\"command\":\"1\"}]},{\"name\":\"1\",\"from\":\"host\","
	        "\"image\":\"host\","
	        "\"steps\":[{\"type\":\"run\",\"command\":\"2\"}]}],\"entrypoint\":[\"x\"]}");
	assert_refused("FROM host AS a\nCOPY --from=a /x /y", "stage 'a' is this one");
	assert_refused("FROM host AS a\nCOPY --from=b /x /y\nFROM host AS b",
	               "stage 'b' comes after");
	assert_refused("FROM host\nCOPY --from=1 /x /y", "no earlier stage 1");
	assert_refused("FROM host AS a\nFROM host AS A", "there is a stage 'A' already");
	assert_refused("FROM host AS 1a", "is not a stage's name");
	assert_refused("FROM b AS a\nFROM scratch", "(scratch) is not supported");
}

TEST(mounts_are_part_of_their_step)
{
	assert_steps(
	        "RUN --mount=type=cache,target=/c,sharing=locked --mount=type=secret,id=s,env=S,"
	        "required x",
	        "{\"type\":\"run\",\"command\":\"x\",\"mounts\":[{\"type\":\"cache\",\"id\":"
	        "\"/c\",\"path\":\"/c\"},{\"type\":\"secret\",\"id\":\"s\",\"env\":\"S\","
	        "\"required\":true}]}");
	assert_steps("ARG P=/c\nRUN --mount=type=cache,id=$P,uid=5,mode=0700,dst=$P true",
	             "{\"type\":\"run\",\"command\":\"true\",\"mounts\":[{\"type\":\"cache\","
	             "\"id\":\"/c\",\"path\":\"/c\",\"mode\":\"0700\",\"user\":\"5:0\"}],\"env\":{"
	             "\"P\":\"/c\"}}");
	assert_steps(
	        "RUN --mount=source=a,target=b --mount=type=secret,id=t --mount=type=tmpfs,"
	        "target=/t x",
	        "{\"type\":\"run\",\"command\":\"x\",\"mounts\":[{\"type\":\"bind\","
	        "\"context\":[\"a\"],\"at\":\"D:2\",\"path\":\"b\"},{\"type\":\"secret\",\"id\":"
	        "\"t\",\"path\":\"/run/secrets/t\"},{\"type\":\"tmpfs\",\"path\":\"/t\"}]}");
	assert_refused("FROM host\nRUN --mount=type=cache x", "takes a target");
	assert_refused("FROM host\nRUN --mount=type=ssh x",
	               "RUN --mount=type=ssh is not supported");
	assert_refused("FROM host\nRUN --mount=type=secret x", "takes an id");
	assert_refused("FROM host\nRUN --mount=fly=1 x", "--mount has no key 'fly'");
	assert_refused("FROM host\nRUN --network=none x", "RUN --network is not supported");
}

/* A short file whose text would be gigabytes. */
TEST(variables_do_not_multiply_without_end)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);

	buf_add_text(&text, "FROM host\nENV V=");
	for (unsigned i = 0; i < 60000; i++)
		buf_add_byte(&text, 'v');
	buf_add_text(&text, "\nARG A=$V$V");
	assert_refused(buf_text(&text), "D:3: ARG: its words have more than 65536 bytes");
	buf_addf(&text, " B\nCOPY <<E /a\n");
	for (unsigned i = 0; i < 20; i++)
		buf_add_text(&text, "$V");
	buf_add_text(&text, "\nE\n");
	assert_refused(buf_text(&text), "a here-document has at most");
	buf_reset(&text);
	buf_add_text(&text, "FROM host\nENV V=");
	for (unsigned i = 0; i < 60000; i++)
		buf_add_byte(&text, 'v');
	for (unsigned i = 0; i < 20; i++)
		buf_add_text(&text, "\nCOPY <<E /a\n$V $V $V $V $V\nE");
	assert_refused(buf_text(&text), "the steps have more than");
}

TEST(all_lines_that_fail_are_told_at_once)
{
	static const char text[] = "FROM host\nADD http://a/b c\nRUN x\nFLY\nRUN --security=x "
	                           "y\nFROM scratch\nCOPY a";

	assert_refused(text, "D: 5 lines cannot be built: 2 ADD of a URL, 4 'FLY' is not an "
	                     "instruction, 5 RUN --security, 6 an empty root filesystem "
	                     "(scratch), 7 COPY: takes sources and a target");
	assert_refused(arena_format(&arena, "FROM host\n%0*d", 1, 0), "D:2: '0' is not");
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
	                    "{\"from\":\"host\",\"image\":\"host\",\"steps\":[{\"type\":\"run\","
	                    "\"command\":\"x\"}]}");
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
	                   "\"ready\""));
	assert_non_null(
	        strstr(translate("FROM host\nEXPOSE 80 90-91/tcp 5/udp", NULL), "[80,90,91]"));
}

TEST(what_cannot_be_is_told_with_its_line)
{
	assert_refused("", "no FROM");
	assert_refused("RUN x", "D:1: FROM must come before RUN");
	assert_refused("FROM --platform=x host", "FROM --platform=x is not supported");
	assert_refused("FROM --fly host", "FROM has no option --fly");
	assert_refused("FROM host\nRUN", "D:2: RUN: takes a command");
	assert_refused("FROM host\nCOPY a", "takes sources and a target");
	assert_refused("FROM host\nCOPY --parents a b", "COPY --parents is not supported");
	assert_refused("FROM host\nENV =x", "a variable has no name");
	assert_refused("FROM host\nEXPOSE 0", "port");
	assert_refused("FROM host\nEXPOSE 90-80", "port");
	assert_refused("FROM host\nEXPOSE 1-65535", "more than 64 ports");
	assert_refused("FROM host\nHEALTHCHECK x", "takes CMD");
	assert_refused("FROM host\nSHELL bash", "SHELL: takes a list of words");
	assert_refused("FROM host\nRUN \\", "ends with a backslash");
}

static void assert_translated(const struct dockerfile *file, const char *body)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16), notes = BUF(1 << 12);

	err = (struct error){0};
	assert_int_equal(dockerfile_translate(&arena, file, &out, &notes, &err), 0);
	assert_string_equal(buf_text(&out), body);
}

TEST(images_are_named_in_from_and_in_copy)
{
	struct dockerfile file = {.name = "D", .text = SPAN("FROM python:3.12-slim\nRUN x")};

	assert_translated(&file, "{\"image\":\"python:3.12-slim\",\"steps\":[{\"type\":\"run\","
	                         "\"command\":\"x\"}]}");
	/* A template, or an image. */
	file.text = SPAN("FROM alpine");
	assert_translated(&file, "{\"from\":\"alpine\",\"image\":\"alpine\",\"steps\":[]}");
	file.text = SPAN("FROM r.example/a/b@sha256:0 AS a\nFROM a\nCOPY --from=nginx:1 /x /y");
	assert_translated(&file,
	                  "{\"from\":\"a\",\"steps\":[{\"type\":\"copy\",\"from\":\"@nginx:1\","
	                  "\"paths\":[\"/x\"],\"path\":\"/y\"}],\"stages\":[{\"name\":\"@nginx:1\","
	                  "\"image\":\"nginx:1\",\"steps\":[]},{\"name\":\"a\",\"image\":"
	                  "\"r.example/a/b@sha256:0\",\"steps\":[]}]}");
	/* --from of the command line replaces both. */
	file.text = SPAN("FROM a:1");
	file.from = "own";
	assert_translated(&file, "{\"from\":\"own\",\"steps\":[]}");
	file.from = "b:2";
	assert_translated(&file, "{\"image\":\"b:2\",\"steps\":[]}");
}

TEST(files_may_be_missing)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16), notes = BUF(1 << 12);
	const struct dockerfile file = {
	        .name = "D", .text = SPAN("FROM host\nCOPY a b"), .has_no_files = true};

	err = (struct error){0};
	assert_int_equal(dockerfile_translate(&arena, &file, &out, &notes, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "COPY without the files"));
}

int main(void)
{
	int failures = RUN(
	        CASE(words_have_quotes_backslashes_and_variables),
	        CASE(each_instruction_becomes_its_step), CASE(what_is_ignored_is_told_in_the_log),
	        CASE(here_documents_are_commands_files_and_standard_input),
	        CASE(stages_that_the_result_needs_are_kept), CASE(mounts_are_part_of_their_step),
	        CASE(variables_do_not_multiply_without_end),
	        CASE(all_lines_that_fail_are_told_at_once),
	        CASE(arguments_are_the_commands_and_not_the_templates),
	        CASE(entrypoint_and_command_are_joined_as_with_docker),
	        CASE(what_cannot_be_is_told_with_its_line),
	        CASE(images_are_named_in_from_and_in_copy), CASE(files_may_be_missing));

	arena_done(&arena);
	return failures;
}
