/* SPDX-License-Identifier: Apache-2.0 */
/* With a program of ours in CRIU's place: what CRIU itself does here, `atoll doctor` tells. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/checkpoint.h"
#include "unit.h"

#define HEAD "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Version: 4.2' && exit 0\n"

static char folder[64];

static int probe(const char *script, char *version, struct error *err)
{
	char path[128];
	int status;

	(void)snprintf(folder, sizeof(folder), "/tmp/atoll-probe-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/criu", folder);
	if (script)
		assert_int_equal(file_write(AT_FDCWD, path, span_of(script), 0755, err), 0);
	status = checkpoint_probe(&(struct checkpoint_options){path, folder}, version, 64, err);
	(void)unlink(path);
	/* Nothing else was left. */
	assert_int_equal(rmdir(folder), 0);
	return status;
}

TEST(a_missing_program_is_named)
{
	struct error err = {0};
	char version[64] = "";

	assert_int_equal(probe(NULL, version, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "no program 'criu'"));
}

TEST(what_it_says_when_it_cannot_dump_is_told)
{
	struct error err = {0};
	char version[64];

	if (geteuid() != 0)
		skip();
	assert_int_equal(probe(HEAD "echo Warn >&2; echo 'Error (vdso.c:1): bad bounds' >&2\n"
	                            "echo 'Error (after): more' >&2; exit 1\n",
	                       version, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_string_equal(version, "criu 4.2");
	assert_non_null(strstr(err.text, "criu 4.2 cannot dump"));
	assert_non_null(strstr(err.text, "bad bounds"));
}

TEST(one_that_dumps_and_cannot_restore_is_told_apart)
{
	struct error err = {0};
	char version[64];

	if (geteuid() != 0)
		skip();
	assert_int_equal(
	        probe(HEAD "[ $1 = dump ] && kill -9 $3 && exit 0\nexit 3\n", version, &err), -1);
	assert_non_null(strstr(err.text, "cannot restore"));
	assert_non_null(strstr(err.text, "said nothing"));
}

TEST(one_that_does_both_is_able_and_what_it_restored_ends)
{
	struct error err = {0};
	char version[64];

	if (geteuid() != 0)
		skip();
	assert_int_equal(probe(HEAD "[ $1 = dump ] && kill -9 $3 && exit 0\n"
	                            "sleep 30 >/dev/null 2>&1 &\necho $! > $6\nexit 0\n",
	                       version, &err),
	                 0);
	assert_int_equal(
	        probe(HEAD "[ $1 = dump ] && kill -9 $3 && exit 0\nexit 0\n", version, &err), -1);
}

TEST(where_it_works_the_refusal_names_the_program_the_kernel_and_what_no_program_can)
{
	struct error err = {0};
	struct utsname kernel;
	char path[128];

	if (geteuid() != 0)
		skip();
	assert_int_equal(uname(&kernel), 0);
	(void)snprintf(folder, sizeof(folder), "/tmp/atoll-probe-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/criu", folder);
	assert_int_equal(file_write(AT_FDCWD, path,
	                            SPAN(HEAD "[ $1 = dump ] && kill -9 $3 && exit 0\n"
	                                      "sleep 30 >/dev/null 2>&1 &\necho $! > $6\nexit 0\n"),
	                            0755, &err),
	                 0);
	checkpoint_refuse(&(struct checkpoint_options){path, folder}, &err);
	(void)unlink(path);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	kernel.release[32] = '\0';
	assert_non_null(strstr(err.text, "criu 4.2 dumps"));
	assert_non_null(strstr(err.text, kernel.release));
	assert_non_null(strstr(err.text, "user namespace"));
}

int main(void)
{
	return RUN(
	        CASE(a_missing_program_is_named), CASE(what_it_says_when_it_cannot_dump_is_told),
	        CASE(one_that_dumps_and_cannot_restore_is_told_apart),
	        CASE(one_that_does_both_is_able_and_what_it_restored_ends),
	        CASE(where_it_works_the_refusal_names_the_program_the_kernel_and_what_no_program_can));
}
