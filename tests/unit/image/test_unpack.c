/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <locale.h>
#include <sys/xattr.h>

#include "base/bytes.h"
#include "image/unpack.h"
#include "scratch.h"
#include "tar.h"

static int unpack_fd(const struct scratch *s, int fd, struct error *err)
{
	struct unpack u = {.source_fd = fd, .target = s->path, .size_max = 1 << 20};
	int ret = unpack_archive(&u, err);

	close(fd);
	return ret;
}

static int unpack(const struct scratch *s, const struct tar_row *rows, struct error *err)
{
	return unpack_fd(s, tar_new(rows, NULL), err);
}

static const struct tar_row plain[] = {
        {"./", AE_IFDIR, .mode = 0700},
        {"./bin", AE_IFDIR, .mode = 0755},
        {"./bin/su", AE_IFREG, .data = "#!", .mode = 04755},
        {"./bin/sh", AE_IFLNK, .link = "/bin/busybox"},
        {"bin/again", 0, .link = "./bin/su"},
        {"./dev/null", AE_IFCHR},
        {"./ü", AE_IFREG, .data = "x"},
        {NULL},
};

static void check_plain(const struct scratch *s)
{
	assert_string_equal(scratch_read(s, "bin/su"), "#!");
	assert_int_equal(scratch_mode(s, "bin/su") & 07777, 04755);
	assert_int_equal(scratch_mode(s, "bin/sh") & S_IFMT, S_IFLNK);
	assert_string_equal(scratch_read(s, "bin/again"), "#!");
	assert_string_equal(scratch_read(s, "ü"), "x");
	assert_int_equal(scratch_mode(s, "dev/null"), 0);
}

TEST(a_tar_is_unpacked_with_modes_links_and_any_names)
{
	struct scratch s = scratch_new();
	struct error err = {0};

	if (unpack(&s, plain, &err) < 0)
		fail_msg("%s", err.text);
	check_plain(&s);
	scratch_done(&s);
}

TEST(compressed_tars_are_unpacked_too)
{
	static int (*const filters[])(struct archive *) = {archive_write_add_filter_gzip,
	                                                   archive_write_add_filter_xz,
	                                                   archive_write_add_filter_zstd};

	for (size_t i = 0; i < COUNT_OF(filters); i++) {
		struct scratch s = scratch_new();
		struct error err = {0};
		if (unpack_fd(&s, tar_new(plain, filters[i]), &err) < 0)
			fail_msg("%s", err.text);
		check_plain(&s);
		scratch_done(&s);
	}
}

/* What must not get in, nor out of the folder. */
static const struct {
	const char *why;
	struct tar_row rows[3];
} hostile[] = {
        {"absolute name", {{"/tmp/atoll-pwned", AE_IFREG}}},
        {"leads out", {{"../atoll-pwned", AE_IFREG}}},
        {"leads out later", {{"a/../../atoll-pwned", AE_IFREG}}},
        {"dots at the end", {{"a/..", AE_IFDIR}}},
        {"through a link", {{"x", AE_IFLNK, .link = "/tmp"}, {"x/atoll-pwned", AE_IFREG}}},
        {"through a relative link", {{"x", AE_IFLNK, .link = ".."}, {"x/atoll-pwned", AE_IFREG}}},
        {"hard link out", {{"x", 0, .link = "/etc/passwd"}}},
        {"hard link up", {{"x", 0, .link = "../../etc/passwd"}}},
        {"hard link through a link",
         {{"x", AE_IFLNK, .link = "/etc"}, {"y", 0, .link = "x/passwd"}}},
        {"character device", {{"null", AE_IFCHR}}},
        {"block device", {{"etc/sda", AE_IFBLK}}},
        {"pipe", {{"etc/pipe", AE_IFIFO}}},
        {"device named dev", {{"dev", AE_IFCHR}}},
};

TEST(hostile_entries_are_refused)
{
	for (size_t i = 0; i < COUNT_OF(hostile); i++) {
		struct scratch s = scratch_new();
		struct error err = {0};
		if (unpack(&s, hostile[i].rows, &err) == 0)
			fail_msg("taken: %s", hostile[i].why);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(access("/tmp/atoll-pwned", F_OK), -1);
		scratch_done(&s);
	}
}

TEST(a_link_that_is_replaced_by_a_file_does_not_lead_out)
{
	struct scratch s = scratch_new(), other = scratch_new();
	struct error err = {0};
	char target[96];
	struct tar_row rows[] = {
	        {"x", AE_IFLNK, .link = target}, {"x", AE_IFREG, .data = "changed"}, {NULL}};

	scratch_write(&other, "file", "kept");
	snprintf(target, sizeof(target), "%s/file", other.path);
	assert_int_equal(unpack(&s, rows, &err), 0);
	assert_string_equal(scratch_read(&other, "file"), "kept");
	assert_string_equal(scratch_read(&s, "x"), "changed");
	scratch_done(&s);
	scratch_done(&other);
}

TEST(attributes_other_than_capabilities_stay_outside)
{
	struct scratch s = scratch_new();
	struct error err = {0};
	struct tar_row rows[] = {{"x", AE_IFREG, .data = "x", .attribute = "user.overlay.opaque"},
	                         {NULL}};
	char path[96], value[8];

	int fd = tar_new(rows, NULL);
	struct unpack u = {
	        .source_fd = fd, .target = s.path, .size_max = 1 << 20, .keep_owners = true};
	assert_int_equal(unpack_archive(&u, &err), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/x", s.path);
	assert_int_equal(getxattr(path, "user.overlay.opaque", value, sizeof(value)), -1);
	scratch_done(&s);
}

TEST(what_unpacks_to_too_much_is_refused)
{
	static char data[(1 << 20) + 1];
	struct scratch s = scratch_new();
	struct error err = {0};
	struct tar_row rows[] = {{"zeros", AE_IFREG, .data = data}, {NULL}};

	memset(data, '0', sizeof(data) - 1);
	assert_int_equal(unpack(&s, rows, &err), 0);
	struct tar_row twice[] = {
	        {"a", AE_IFREG, .data = data}, {"b", AE_IFREG, .data = "1"}, {NULL}};
	assert_int_equal(unpack_fd(&s, tar_new(twice, archive_write_add_filter_gzip), &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	scratch_done(&s);
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

TEST(what_is_no_tar_is_refused)
{
	static const char zip[] = "PK\3\4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const char zeros[1024];
	struct scratch s = scratch_new();
	struct error err = {0};

	assert_int_equal(unpack_fd(&s, file_of("hello", 5), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_true(err.hint[0] != '\0');
	assert_int_equal(unpack_fd(&s, file_of("", 0), &err), -1);
	assert_int_equal(unpack_fd(&s, file_of(zip, sizeof(zip)), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(unpack_fd(&s, file_of(zeros, sizeof(zeros)), &err), -1);
	assert_string_equal(err.text, "the archive is empty");
	scratch_done(&s);
}

TEST(a_tar_that_is_cut_off_is_refused)
{
	static char data[5000];
	struct scratch s = scratch_new();
	struct error err = {0};
	struct tar_row rows[] = {{"a", AE_IFREG, .data = data}, {NULL}};

	memset(data, 'x', sizeof(data) - 1);
	int fd = tar_new(rows, NULL);
	assert_int_equal(ftruncate(fd, 2000), 0);
	assert_int_equal(unpack_fd(&s, fd, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	scratch_done(&s);
}

TEST(names_are_cut_to_what_is_written)
{
	const char *name = NULL;
	struct error err = {0};

	assert_int_equal(unpack_name_check("././a/b/", &name, &err), 0);
	assert_string_equal(name, "a/b/");
	assert_int_equal(unpack_name_check("./", &name, &err), 0);
	assert_null(name);
	assert_int_equal(unpack_name_check("dev/pts/0", &name, &err), 0);
	assert_null(name);
	assert_int_equal(unpack_name_check("device", &name, &err), 0);
	assert_string_equal(name, "device");
	assert_int_equal(unpack_name_check(".//etc/passwd", &name, &err), -1);
	assert_int_equal(unpack_name_check("dev/../../x", &name, &err), -1);
}

TEST(names_that_are_too_deep_or_too_long_are_refused)
{
	static char deep[2001], wide[301];
	const char *name;
	struct error err = {0};

	for (size_t i = 0; i < sizeof(deep) - 1; i++)
		deep[i] = i % 2 ? '/' : 'a';
	memset(wide, 'a', sizeof(wide) - 1);
	assert_int_equal(unpack_name_check(deep, &name, &err), -1);
	assert_int_equal(unpack_name_check(wide, &name, &err), -1);
}

#define BOMB_SIZE ((size_t)300 << 20)

/* Of a few hundred KiB. */
static int bomb_new(void)
{
	static const char zeros[1 << 20];
	int fd = memfd_create("bomb", MFD_CLOEXEC);
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();

	assert_int_equal(archive_write_set_format_pax(a), ARCHIVE_OK);
	assert_true(archive_write_add_filter_gzip(a) >= ARCHIVE_WARN);
	assert_int_equal(archive_write_open_fd(a, fd), ARCHIVE_OK);
	archive_entry_set_pathname(e, "zeros");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_size(e, (int64_t)BOMB_SIZE);
	archive_entry_set_uid(e, geteuid());
	archive_entry_set_gid(e, getegid());
	assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
	for (size_t at = 0; at < BOMB_SIZE; at += sizeof(zeros))
		assert_int_equal(archive_write_data(a, zeros, sizeof(zeros)), sizeof(zeros));
	archive_entry_free(e);
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

TEST(a_few_bytes_that_stand_for_very_many_are_refused_while_they_grow)
{
	struct scratch s = scratch_new();
	struct error err = {0};
	int fd = bomb_new();
	struct unpack u = {.source_fd = fd, .target = s.path, .size_max = INT64_C(1) << 30};
	struct stat st;

	assert_int_equal(unpack_archive(&u, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.text, "200 times"));
	assert_int_equal(stat("zeros", &st), 0);
	assert_true(st.st_blocks * 512 < (blkcnt_t)BOMB_SIZE / 2);
	close(fd);
	scratch_done(&s);
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return RUN(CASE(a_tar_is_unpacked_with_modes_links_and_any_names),
	           CASE(compressed_tars_are_unpacked_too), CASE(hostile_entries_are_refused),
	           CASE(a_link_that_is_replaced_by_a_file_does_not_lead_out),
	           CASE(attributes_other_than_capabilities_stay_outside),
	           CASE(what_unpacks_to_too_much_is_refused), CASE(what_is_no_tar_is_refused),
	           CASE(a_tar_that_is_cut_off_is_refused), CASE(names_are_cut_to_what_is_written),
	           CASE(names_that_are_too_deep_or_too_long_are_refused),
	           CASE(a_few_bytes_that_stand_for_very_many_are_refused_while_they_grow));
}
