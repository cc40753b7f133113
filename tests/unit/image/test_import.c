/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way of an import. It needs root for its jail; unprivileged, all but the checks of
 * arguments is skipped. */
#include "unit.h"

#include <signal.h>

#include "image/command.h"
#include "image/image.h"
#include "scratch.h"
#include "tar.h"

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static struct image_spec job_in(const struct scratch *s)
{
	return (struct image_spec){
	        .templates_dir = s->path, .name = "one", .progress_fd = -1, .size_max = 1 << 20};
}

static const struct tar_row rows[] = {
        {"./bin", AE_IFDIR, .mode = 0755},
        {"./bin/su", AE_IFREG, .data = "#!", .mode = 04755},
        {"./etc", AE_IFDIR, .mode = 0755},
        {NULL},
};

TEST(a_tar_becomes_a_template)
{
	need_root();
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct arena a = {0};
	struct image_config config;
	struct error err = {0};
	int fd = tar_new(rows, NULL);

	if (image_import(&spec, IMAGE_TAR, fd, NULL, &err) < 0)
		fail_msg("%s", err.text);
	close(fd);
	assert_int_equal(scratch_mode(&s, "one/rootfs/bin/su") & 07777, 04755);
	assert_int_equal(scratch_mode(&s, "one") & 0777, 0700);
	assert_int_equal(image_config_load(&a, s.path, "one", &config, &err), 0);
	assert_true(config.size_bytes > 0);
	assert_string_equal(config.env_json, "{}");
	arena_done(&a);
	scratch_done(&s);
}

TEST(a_failed_import_leaves_nothing_and_says_why)
{
	need_root();
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct tar_row bad[] = {rows[0], {"../x", AE_IFREG}, {NULL}};
	struct error err = {0};
	int fd = tar_new(bad, NULL);

	assert_int_equal(image_import(&spec, IMAGE_TAR, fd, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "leads out"));
	assert_int_equal(scratch_mode(&s, "one"), 0);
	assert_int_equal(scratch_mode(&s, ".one.partial"), 0);
	close(fd);
	scratch_done(&s);
}

TEST(an_archive_without_programs_is_no_root)
{
	need_root();
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct tar_row wrong[] = {{"manifest.json", AE_IFREG, .data = "[]"}, {NULL}};
	struct error err = {0};
	int fd = tar_new(wrong, NULL);

	assert_int_equal(image_import(&spec, IMAGE_TAR, fd, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.hint, "docker-archive"));
	close(fd);
	scratch_done(&s);
}

TEST(an_import_that_nobody_waits_for_is_given_up)
{
	need_root();
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct error err = {0};
	int ends[2], archive[2];

	/* An archive that never comes, and a reader of the progress that has gone. */
	assert_int_equal(pipe2(archive, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	spec.progress_fd = ends[1];
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(image_import(&spec, IMAGE_TAR, archive[0], NULL, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(scratch_mode(&s, ".one.partial"), 0);
	close(ends[1]);
	close(archive[0]);
	close(archive[1]);
	scratch_done(&s);
}

TEST(an_import_needs_what_its_format_reads)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct error err = {0};

	assert_int_equal(image_import(&spec, IMAGE_TAR, -1, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(image_import(&spec, IMAGE_REGISTRY, -1, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	scratch_done(&s);
}

TEST(a_missing_program_is_named_with_its_package)
{
	struct error err = {0};

	assert_int_equal(command_require("sh", &err), 0);
	assert_int_equal(command_require("atoll-no-such-program", &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_string_equal(err.hint, "apt-get install atoll-no-such-program");
}

/* ---- the jail itself ---- */

static int run_in_jail(const struct scratch *s, const char *script, struct error *err)
{
	struct image_spec spec = job_in(s);
	const char *argv[] = {"sh", "-c", script, NULL};
	struct image_command command = {
	        .argv = argv, .folder_fd = s->fd, .strict = true, .source_fd = -1};

	return command_run(&spec, &command, err);
}

TEST(a_jail_shows_its_folder_writable_and_all_else_read_only)
{
	need_root();
	struct scratch s = scratch_new();
	struct error err = {0};

	assert_int_equal(run_in_jail(&s,
	                             "echo x > " JAIL_FOLDER "/a && ! echo x > /etc/atoll-pwned "
	                             "&& ! echo x > /tmp/atoll-pwned && ! mount -t tmpfs x /tmp "
	                             "&& ! mknod b b 8 0 && ! ls /proc/self/fd/4",
	                             &err),
	                 0);
	assert_string_equal(scratch_read(&s, "a"), "x\n");
	assert_int_equal(access("/etc/atoll-pwned", F_OK), -1);
	scratch_done(&s);
}

TEST(a_jail_without_need_has_no_network_and_sees_no_other_process)
{
	need_root();
	struct scratch s = scratch_new();
	struct error err = {0};

	assert_int_equal(run_in_jail(&s,
	                             "[ $(ls -d /proc/[0-9]* | wc -l) -le 5 ] && "
	                             "[ $(wc -l < /proc/net/route) -le 1 ]",
	                             &err),
	                 0);
	scratch_done(&s);
}

TEST(what_a_jailed_program_says_last_is_the_error)
{
	need_root();
	struct scratch s = scratch_new();
	struct error err = {0};

	assert_int_equal(run_in_jail(&s, "echo one; echo 'error: no luck' >&2; exit 3", &err), -1);
	assert_string_equal(err.text, "sh: no luck");
	scratch_done(&s);
}

TEST(what_writes_too_much_is_ended)
{
	need_root();
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct error err = {0};
	const char *argv[] = {"sh", "-c", "head -c 3000000 /dev/zero > big; exec sleep 600", NULL};
	struct image_command command = {.argv = argv,
	                                .folder_fd = s.fd,
	                                .strict = true,
	                                .source_fd = -1,
	                                .measured = s.path};

	assert_int_equal(command_run(&spec, &command, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(a_tar_becomes_a_template),
	           CASE(a_failed_import_leaves_nothing_and_says_why),
	           CASE(an_archive_without_programs_is_no_root),
	           CASE(an_import_that_nobody_waits_for_is_given_up),
	           CASE(an_import_needs_what_its_format_reads),
	           CASE(a_missing_program_is_named_with_its_package),
	           CASE(a_jail_shows_its_folder_writable_and_all_else_read_only),
	           CASE(a_jail_without_need_has_no_network_and_sees_no_other_process),
	           CASE(what_a_jailed_program_says_last_is_the_error),
	           CASE(what_writes_too_much_is_ended));
}
