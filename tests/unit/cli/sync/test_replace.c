/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "cli/sync/sync.h"

#define PART ".atoll-sync-0123456789abcdefghij"

/* A folder in which "file" and what came for it are. */
struct fixture {
	char path[32];
	struct cli cli;
	struct folder_sync sync;
	struct sync_part part;
	struct sync_place place;
	struct stat before;
};

static int put(const struct fixture *f, const char *name, const char *text)
{
	int fd = openat(f->sync.folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct error err;

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), &err), 0);
	return fd;
}

static void assert_has(const struct fixture *f, const char *name, const char *text)
{
	AUTO(buf_done) struct buf found = {0};
	struct error err;

	assert_int_equal(file_read(f->sync.folder, name, &found, &err), 0);
	assert_string_equal(buf_text(&found), text);
}

static bool has_none(const struct fixture *f, const char *name)
{
	return faccessat(f->sync.folder, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){
	        .path = "/tmp/atoll-place-XXXXXX", .cli = {.json = true}, .part = {.name = PART}};
	assert_non_null(mkdtemp(f->path));
	f->sync = (struct folder_sync){.cli = &f->cli,
	                               .folder = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	f->place = (struct sync_place){f->sync.folder, "file", "file"};
	(void)close(put(f, "file", "mine"));
	assert_int_equal(fstatat(f->sync.folder, "file", &f->before, 0), 0);
	f->part.fd = put(f, PART, "theirs");
}

/* Answers what is at the name beside; "" = there is none. */
static const char *done(struct fixture *f, char *ret, size_t size)
{
	char line[128];
	FILE *out;

	(void)snprintf(line, sizeof(line), "cd %s && cat *.conflict-* 2>/dev/null; rm -rf %s",
	               f->path, f->path);
	out = popen(line, "re");
	assert_non_null(out);
	ret[fread(ret, 1, size - 1, out)] = '\0';
	(void)pclose(out);
	(void)close(f->part.fd);
	(void)close(f->sync.folder);
	arena_done(&f->sync.arena);
	return ret;
}

static void exchange(struct fixture *f)
{
	assert_int_equal(renameat2(f->sync.folder, PART, f->sync.folder, "file", RENAME_EXCHANGE),
	                 0);
}

TEST(what_came_takes_the_place_of_a_file_that_is_still)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	assert_int_equal(sync_replace(&f.sync, &f.part, &f.place, &f.before, &err), 1);
	assert_has(&f, "file", "theirs");
	assert_true(has_none(&f, f.part.name) && has_none(&f, PART));
	assert_string_equal(done(&f, beside, sizeof(beside)), "");
}

TEST(a_file_that_changed_has_its_place_again)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	(void)close(put(&f, "file", "mine, then"));
	assert_int_equal(sync_replace(&f.sync, &f.part, &f.place, &f.before, &err), 0);
	assert_has(&f, "file", "mine, then");
	assert_true(sync_part_is_ours(&f.sync, &f.part));
	assert_has(&f, f.part.name, "theirs");
	assert_string_equal(done(&f, beside, sizeof(beside)), "");
}

TEST(a_file_has_its_name_again_when_what_came_was_removed)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	exchange(&f);
	assert_int_equal(unlinkat(f.sync.folder, "file", 0), 0);
	assert_int_equal(sync_put_back(&f.sync, &f.part, &f.place, &err), 0);
	assert_has(&f, "file", "mine");
	assert_false(sync_part_is_ours(&f.sync, &f.part));
	assert_string_equal(done(&f, beside, sizeof(beside)), "");
}

TEST(a_file_has_its_name_again_when_what_came_was_renamed)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	exchange(&f);
	assert_int_equal(renameat(f.sync.folder, "file", f.sync.folder, "elsewhere"), 0);
	assert_int_equal(sync_put_back(&f.sync, &f.part, &f.place, &err), 0);
	assert_has(&f, "file", "mine");
	assert_has(&f, "elsewhere", "theirs");
	assert_string_equal(done(&f, beside, sizeof(beside)), "");
}

TEST(what_replaced_what_came_is_kept_beside)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	exchange(&f);
	(void)close(put(&f, "saved", "newer"));
	assert_int_equal(renameat(f.sync.folder, "saved", f.sync.folder, "file"), 0);
	assert_int_equal(sync_put_back(&f.sync, &f.part, &f.place, &err), 0);
	assert_has(&f, "file", "mine");
	assert_false(sync_part_is_ours(&f.sync, &f.part));
	assert_int_equal(f.sync.conflicts, 1);
	assert_string_equal(done(&f, beside, sizeof(beside)), "newer");
}

TEST(a_file_whose_folder_is_gone_keeps_the_name_of_ours)
{
	struct fixture f;
	struct error err;
	char beside[16];

	begin(&f);
	exchange(&f);
	assert_int_equal(mkdirat(f.sync.folder, "sub", 0700), 0);
	f.place.parent = openat(f.sync.folder, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(unlinkat(f.sync.folder, "sub", AT_REMOVEDIR), 0);
	assert_int_equal(sync_put_back(&f.sync, &f.part, &f.place, &err), -1);
	assert_has(&f, PART, "mine");
	assert_false(sync_part_is_ours(&f.sync, &f.part));
	(void)close(f.place.parent);
	assert_string_equal(done(&f, beside, sizeof(beside)), "");
}

TEST(names_of_ours_say_what_they_hold)
{
	assert_true(sync_is_part(PART));
	assert_null(sync_exchanged_name(PART));
	assert_string_equal(sync_exchanged_name(PART "-a file"), "a file");
	assert_false(sync_is_part(PART "-a file"));
	assert_false(sync_is_part(".atoll-sync-short"));
	assert_null(sync_exchanged_name(".atoll-sync-short-file"));
	assert_null(sync_exchanged_name(PART "-"));
}

int main(void)
{
	return RUN(CASE(what_came_takes_the_place_of_a_file_that_is_still),
	           CASE(a_file_that_changed_has_its_place_again),
	           CASE(a_file_has_its_name_again_when_what_came_was_removed),
	           CASE(a_file_has_its_name_again_when_what_came_was_renamed),
	           CASE(what_replaced_what_came_is_kept_beside),
	           CASE(a_file_whose_folder_is_gone_keeps_the_name_of_ours),
	           CASE(names_of_ours_say_what_they_hold));
}
