/* SPDX-License-Identifier: Apache-2.0 */
/* Layers made by hand, as overlayfs writes them. Needs root: whiteouts are devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "task/merge.h"
#include "task/remove.h"
#include "unit.h"

#define OPAQUE "trusted.overlay.opaque"

static const struct merge_limits limits = {1000, 20};

struct data {
	char path[64];
	int layers[3], to;
};

static int open_folder(const char *parent, const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", parent, name);
	assert_int_equal(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int data_open(void **state)
{
	static const char *const names[] = {"top", "middle", "bottom"};
	struct data *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)umask(0);
	(void)snprintf(d->path, sizeof(d->path), "/tmp/atoll-merge.XXXXXX");
	assert_non_null(mkdtemp(d->path));
	for (unsigned i = 0; i < 3; i++)
		d->layers[i] = open_folder(d->path, names[i]);
	d->to = open_folder(d->path, "to");
	*state = d;
	return 0;
}

static int data_close(void **state)
{
	struct data *d = *state;
	struct error err = {0};

	for (unsigned i = 0; i < 3; i++)
		(void)close(d->layers[i]);
	(void)close(d->to);
	assert_int_equal(remove_tree(AT_FDCWD, d->path, &err), 0);
	free(d);
	return 0;
}

enum { TOP, MIDDLE, BOTTOM };

/* A text; NULL: a folder; "W": a whiteout; "O": an opaque folder. */
static void put(struct data *d, unsigned layer, const char *path, const char *what)
{
	int at = d->layers[layer], fd;

	if (!what || strcmp(what, "O") == 0) {
		assert_int_equal(mkdirat(at, path, 0750), 0);
		fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fd >= 0);
		if (what)
			assert_int_equal(fsetxattr(fd, OPAQUE, "y", 1, 0), 0);
	} else if (strcmp(what, "W") == 0) {
		assert_int_equal(mknodat(at, path, S_IFCHR, 0), 0);
		return;
	} else {
		fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, what, strlen(what)), strlen(what));
	}
	(void)close(fd);
}

static void merge(struct data *d, unsigned count)
{
	struct error err = {0};

	if (merge_layers(d->layers, count, d->to, &limits, &err) < 0)
		fail_msg("%s", err.text);
}

/* The same letters back; "" = nothing there. */
static const char *get(const struct data *d, const char *path)
{
	static char text[64];
	struct stat status;
	char mark[2];
	int fd;

	if (fstatat(d->to, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return "";
	if (S_ISCHR(status.st_mode))
		return status.st_rdev == 0 ? "W" : "device";
	if (S_ISLNK(status.st_mode))
		return "link";
	fd = openat(d->to, path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	memset(text, 0, sizeof(text));
	if (S_ISDIR(status.st_mode))
		(void)snprintf(text, sizeof(text), "%s",
		               fgetxattr(fd, OPAQUE, mark, sizeof(mark)) == 1 ? "O" : "folder");
	else
		assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	(void)close(fd);
	return text;
}

TEST(the_topmost_of_a_name_counts)
{
	struct data *d = *state;

	put(d, TOP, "a", "top");
	put(d, MIDDLE, "a", "middle");
	put(d, MIDDLE, "b", "middle");
	put(d, BOTTOM, "b", NULL);
	put(d, BOTTOM, "b/hidden", "x");
	put(d, BOTTOM, "c", "bottom");
	merge(d, 3);
	assert_string_equal(get(d, "a"), "top");
	assert_string_equal(get(d, "b"), "middle");
	assert_string_equal(get(d, "c"), "bottom");
}

TEST(folders_of_one_name_are_one_and_the_topmost_gives_its_rights)
{
	struct data *d = *state;
	struct stat status;

	put(d, TOP, "d", NULL);
	assert_int_equal(fchmodat(d->layers[TOP], "d", 01711, 0), 0);
	assert_int_equal(fchownat(d->layers[TOP], "d", 7, 8, 0), 0);
	put(d, TOP, "d/a", "top");
	put(d, BOTTOM, "d", NULL);
	put(d, BOTTOM, "d/b", "bottom");
	merge(d, 3);
	assert_string_equal(get(d, "d"), "folder");
	assert_string_equal(get(d, "d/a"), "top");
	assert_string_equal(get(d, "d/b"), "bottom");
	assert_int_equal(fstatat(d->to, "d", &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 01711);
	assert_int_equal(status.st_uid, 7);
	assert_int_equal(status.st_gid, 8);
}

TEST(whiteouts_hide_and_go_on_hiding)
{
	struct data *d = *state;

	put(d, TOP, "gone", "W");
	put(d, BOTTOM, "gone", "x");
	put(d, TOP, "d", NULL);
	put(d, TOP, "d/gone", "W");
	put(d, MIDDLE, "d", NULL);
	put(d, MIDDLE, "d/gone", NULL);
	put(d, MIDDLE, "d/gone/x", "x");
	merge(d, 3);
	assert_string_equal(get(d, "gone"), "W");
	assert_string_equal(get(d, "d/gone"), "W");
}

TEST(an_opaque_folder_hides_what_lies_below_and_stays_so)
{
	struct data *d = *state;

	put(d, TOP, "d", NULL);
	put(d, TOP, "d/top", "t");
	put(d, TOP, "d/middle-too", "W");
	put(d, MIDDLE, "d", "O");
	put(d, MIDDLE, "d/middle", "m");
	put(d, MIDDLE, "d/middle-too", "m");
	put(d, BOTTOM, "d", NULL);
	put(d, BOTTOM, "d/hidden", "x");
	merge(d, 3);
	assert_string_equal(get(d, "d"), "O");
	assert_string_equal(get(d, "d/top"), "t");
	assert_string_equal(get(d, "d/middle"), "m");
	/* Nothing is left that it would hide, and overlayfs would list it. */
	assert_string_equal(get(d, "d/middle-too"), "");
	assert_string_equal(get(d, "d/hidden"), "");
}

TEST(a_folder_over_what_was_none_hides_what_lay_below_that)
{
	struct data *d = *state;

	put(d, TOP, "a", NULL);
	put(d, TOP, "a/new", "n");
	put(d, MIDDLE, "a", "W");
	put(d, BOTTOM, "a", NULL);
	put(d, BOTTOM, "a/hidden", "x");
	put(d, TOP, "b", NULL);
	put(d, TOP, "b/below", NULL);
	put(d, MIDDLE, "b", "a file");
	merge(d, 3);
	assert_string_equal(get(d, "a"), "O");
	assert_string_equal(get(d, "a/new"), "n");
	assert_string_equal(get(d, "a/hidden"), "");
	assert_string_equal(get(d, "b"), "O");
	assert_string_equal(get(d, "b/below"), "folder");
}

TEST(files_are_shared_and_links_are_not_followed)
{
	struct data *d = *state;
	struct stat from, to;

	put(d, MIDDLE, "f", "text");
	assert_int_equal(linkat(d->layers[MIDDLE], "f", d->layers[MIDDLE], "twin", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", d->layers[TOP], "l"), 0);
	assert_int_equal(mkfifoat(d->layers[TOP], "p", 0600), 0);
	merge(d, 2);
	assert_int_equal(fstatat(d->layers[MIDDLE], "f", &from, 0), 0);
	assert_int_equal(fstatat(d->to, "twin", &to, 0), 0);
	assert_int_equal(from.st_ino, to.st_ino);
	assert_string_equal(get(d, "l"), "link");
	assert_int_equal(fstatat(d->to, "p", &to, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISFIFO(to.st_mode));
}

TEST(a_link_in_a_folders_place_hides_it)
{
	struct data *d = *state;

	assert_int_equal(symlinkat("/etc", d->layers[MIDDLE], "d"), 0);
	put(d, TOP, "d", NULL);
	put(d, BOTTOM, "d", NULL);
	put(d, BOTTOM, "d/hidden", "x");
	merge(d, 3);
	assert_string_equal(get(d, "d"), "O");
	assert_string_equal(get(d, "d/hidden"), "");
	assert_string_equal(get(d, "d/passwd"), "");
}

TEST(own_attributes_come_along_and_overlays_do_not)
{
	struct data *d = *state;
	char value[8];
	int fd;

	put(d, TOP, "d", NULL);
	fd = openat(d->layers[TOP], "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fsetxattr(fd, "trusted.mine", "1", 1, 0), 0);
	assert_int_equal(fsetxattr(fd, "trusted.overlay.origin", "2", 1, 0), 0);
	(void)close(fd);
	merge(d, 1);
	fd = openat(d->to, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fgetxattr(fd, "trusted.mine", value, sizeof(value)), 1);
	assert_int_equal(fgetxattr(fd, "trusted.overlay.origin", value, sizeof(value)), -1);
	(void)close(fd);
}

TEST(too_much_is_refused)
{
	static const struct merge_limits few = {2, 20}, flat = {100, 1};
	struct data *d = *state;
	struct error err = {0};

	put(d, TOP, "a", NULL);
	put(d, TOP, "a/b", NULL);
	put(d, TOP, "a/b/c", NULL);
	assert_int_equal(merge_layers(d->layers, 1, d->to, &few, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_int_equal(unlinkat(d->to, "a/b", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(d->to, "a", AT_REMOVEDIR), 0);
	assert_int_equal(merge_layers(d->layers, 1, d->to, &flat, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_int_equal(merge_layers(d->layers, 0, d->to, &limits, &err), -1);
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, data_open, data_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(the_topmost_of_a_name_counts),
	        EACH(folders_of_one_name_are_one_and_the_topmost_gives_its_rights),
	        EACH(whiteouts_hide_and_go_on_hiding),
	        EACH(an_opaque_folder_hides_what_lies_below_and_stays_so),
	        EACH(a_folder_over_what_was_none_hides_what_lay_below_that),
	        EACH(files_are_shared_and_links_are_not_followed),
	        EACH(a_link_in_a_folders_place_hides_it),
	        EACH(own_attributes_come_along_and_overlays_do_not),
	        EACH(too_much_is_refused),
	};

	if (geteuid() != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
