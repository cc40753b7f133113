/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <sys/xattr.h>

#include "image/server_archive.h"
#include "scratch.h"
#include "tar.h"

#define FOLDER "data/volumes/v"

struct noted {
	unsigned left_out;
	char path[4096];
};

static int go_on(void *context, const struct server_contents *sums, struct error *err)
{
	(void)context;
	(void)sums;
	(void)err;
	return 0;
}

static void note(void *context, const char *path, const char *why)
{
	struct noted *noted = context;

	(void)why;
	noted->left_out++;
	(void)snprintf(noted->path, sizeof(noted->path), "%s", path);
}

static int accept_manifest(void *context, struct span text, struct error *err)
{
	(void)context;
	return span_equals_text(text, "{\"a\":1}")
	               ? 0
	               : FAIL(err, ERROR_INVALID, "the manifest was altered");
}

/* Packs the folder as a volume; a descriptor of the archive, at its start. */
static int pack(const struct scratch *s, struct noted *noted, struct server_contents *contents)
{
	struct server_writer_options options = {.fd = memfd_create("archive", MFD_CLOEXEC),
	                                        .on_progress = go_on,
	                                        .on_left_out = note,
	                                        .context = noted};
	struct server_tree top = {s->fd, ".", "data", .without_contents = true},
	                   volumes = {s->fd, ".", "data/volumes", .without_contents = true},
	                   volume = {s->fd, ".", FOLDER};
	struct server_writer *w;
	struct error err = {0};

	assert_int_equal(server_writer_open(&options, SPAN("{\"a\":1}"), &w, &err), 0);
	assert_int_equal(server_writer_add(w, &top, &err), 0);
	assert_int_equal(server_writer_add(w, &volumes, &err), 0);
	assert_int_equal(server_writer_add(w, &volume, &err), 0);
	assert_int_equal(server_writer_link(w, "data/link", "../../etc", &err), 0);
	assert_int_equal(server_writer_end(w, contents, &err), 0);
	server_writer_free(w);
	assert_int_equal(lseek(options.fd, 0, SEEK_SET), 0);
	return options.fd;
}

static int unpack(int archive, int folder, struct error *err)
{
	const struct server_reader reader = {.fd = archive,
	                                     .folder = folder,
	                                     .from_uid = 4242,
	                                     .from_gid = 4242,
	                                     .on_manifest = accept_manifest};
	struct server_contents contents;

	assert_int_equal(lseek(archive, 0, SEEK_SET), 0);
	return server_archive_read(&reader, &contents, err);
}

static void stat_both(const struct scratch *from, const struct scratch *to, const char *name,
                      struct stat ret[2])
{
	char path[512];

	(void)snprintf(path, sizeof(path), "volumes/v/%s", name);
	assert_int_equal(fstatat(from->fd, name, &ret[0], AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fstatat(to->fd, path, &ret[1], AT_SYMLINK_NOFOLLOW), 0);
}

static void assert_same(const struct scratch *from, const struct scratch *to, const char *name)
{
	struct stat both[2];

	stat_both(from, to, name, both);
	assert_int_equal(both[0].st_mode, both[1].st_mode);
	assert_int_equal(both[0].st_uid, both[1].st_uid);
	assert_int_equal(both[0].st_gid, both[1].st_gid);
	assert_int_equal(both[0].st_mtim.tv_sec, both[1].st_mtim.tv_sec);
	assert_int_equal(both[0].st_mtim.tv_nsec, both[1].st_mtim.tv_nsec);
	if (!S_ISDIR(both[0].st_mode))
		assert_int_equal(both[0].st_size, both[1].st_size);
}

static void make_hole(const struct scratch *s, const char *name, off_t data_at, off_t size)
{
	int fd = openat(s->fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	if (data_at >= 0)
		assert_int_equal(pwrite(fd, "here", 4, data_at), 4);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

TEST(what_root_sees_comes_back)
{
	struct scratch from = scratch_new(), to = scratch_new();
	static const char *const names[] = {"folder/plain", "hole", "empty", "late",
	                                    "folder",       "fifo", "link",  "a\nb\xff=\\"};
	struct noted noted = {0};
	struct server_contents contents;
	struct error err = {0};
	struct stat both[2];
	int archive;

	scratch_folder(&from, "folder");
	scratch_write(&from, "folder/plain", "text");
	scratch_write(&from, "a\nb\xff=\\", "strange");
	assert_int_equal(linkat(from.fd, "folder/plain", from.fd, "second", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", from.fd, "link"), 0);
	assert_int_equal(mkfifoat(from.fd, "fifo", 0600), 0);
	make_hole(&from, "hole", -1, 1 << 30);
	make_hole(&from, "late", 300 << 20, 400 << 20);
	make_hole(&from, "empty", -1, 0);
	archive = pack(&from, &noted, &contents);
	assert_true(contents.bytes < 1 << 20);
	assert_int_equal(noted.left_out, 0);
	assert_int_equal(unpack(archive, to.fd, &err), 0);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_same(&from, &to, names[i]);
	assert_string_equal(scratch_read(&to, "volumes/v/second"), "text");
	stat_both(&from, &to, "second", both);
	assert_int_equal(both[1].st_nlink, 2);
	stat_both(&from, &to, "late", both);
	assert_true(both[1].st_blocks < 10000);
	assert_int_equal(readlinkat(to.fd, "link", (char[64]){0}, 64), 9);
	close(archive);
	scratch_done(&from);
	scratch_done(&to);
}

TEST(a_layer_keeps_owners_whiteouts_and_overlays_attributes)
{
	struct scratch from = scratch_new(), to = scratch_new();
	struct server_contents contents;
	struct noted noted = {0};
	struct error err = {0};
	struct stat both[2];
	char value[8];
	int archive;

	if (geteuid() != 0)
		skip();
	scratch_folder(&from, "opaque");
	scratch_write(&from, "mine", "x");
	scratch_write(&from, "suid", "x");
	scratch_write(&from, "servers", "x");
	assert_int_equal(mknodat(from.fd, "gone", S_IFCHR, 0), 0);
	assert_int_equal(fchownat(from.fd, "gone", 1879113728, 1879113728, 0), 0);
	assert_int_equal(fchownat(from.fd, "mine", 1879048192, 1879049192, 0), 0);
	assert_int_equal(fchownat(from.fd, "suid", 1879048192, 1879048192, 0), 0);
	assert_int_equal(fchmodat(from.fd, "suid", 06755, 0), 0);
	assert_int_equal(fchownat(from.fd, "servers", 4242, 4242, 0), 0);
	{
		int fd = openat(from.fd, "opaque", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0), 0);
		close(fd);
	}
	archive = pack(&from, &noted, &contents);
	assert_int_equal(unpack(archive, to.fd, &err), 0);
	assert_same(&from, &to, "mine");
	assert_same(&from, &to, "suid");
	assert_same(&from, &to, "gone");
	stat_both(&from, &to, "gone", both);
	assert_true(S_ISCHR(both[1].st_mode) && both[1].st_rdev == 0);
	/* An owner of the first machine becomes that of the other. */
	stat_both(&from, &to, "servers", both);
	assert_int_equal(both[1].st_uid, 0);
	{
		int fd = openat(to.fd, "volumes/v/opaque", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(fgetxattr(fd, "trusted.overlay.opaque", value, 8), 1);
		close(fd);
	}
	close(archive);
	scratch_done(&from);
	scratch_done(&to);
}

TEST(a_hostile_tree_leaves_only_itself_out)
{
	struct scratch from = scratch_new(), to = scratch_new();
	struct server_contents contents;
	struct noted noted = {0};
	struct error err = {0};
	int archive, at = dup(from.fd), next;

	scratch_write(&from, "kept", "x");
	for (unsigned i = 0; i < SERVER_DEPTH_MAX + 5; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
	make_hole(&from, "huge", -1, (off_t)64 << 30);
	assert_int_equal(linkat(from.fd, "huge", from.fd, "huge2", 0), 0);
	archive = pack(&from, &noted, &contents);
	assert_int_equal(noted.left_out, 1);
	assert_int_equal(unpack(archive, to.fd, &err), 0);
	assert_string_equal(scratch_read(&to, "volumes/v/kept"), "x");
	close(archive);
	scratch_done(&from);
	scratch_done(&to);
}

TEST(an_attribute_that_a_tar_cannot_hold_harms_nothing)
{
	struct scratch from = scratch_new(), to = scratch_new();
	struct server_contents contents;
	struct noted noted = {0};
	struct error err = {0};
	char path[128], value[8];
	int archive;

	scratch_write(&from, "file", "x");
	(void)snprintf(path, sizeof(path), "%s/file", from.path);
	if (setxattr(path, "user.plain", "\0y\n", 3, 0) < 0 && errno == ENOTSUP)
		skip();
	assert_int_equal(setxattr(path, "user.a=b\n", "z", 1, 0), 0);
	assert_int_equal(setxattr(path, "user.\xff\n", "z", 1, 0), 0);
	assert_int_equal(setxattr(path, "user.none", "", 0, 0), 0);
	archive = pack(&from, &noted, &contents);
	if (unpack(archive, to.fd, &err) < 0)
		fail_msg("%s", err.text);
	(void)snprintf(path, sizeof(path), "%s/volumes/v/file", to.path);
	assert_int_equal(getxattr(path, "user.plain", value, sizeof(value)), 3);
	assert_memory_equal(value, "\0y\n", 3);
	assert_int_equal(getxattr(path, "user.none", value, sizeof(value)), 0);
	assert_int_equal(noted.left_out, 2);
	close(archive);
	scratch_done(&from);
	scratch_done(&to);
}

TEST(a_cut_or_altered_archive_is_refused)
{
	struct scratch from = scratch_new();
	struct server_contents contents;
	struct noted noted = {0};
	off_t size;
	int archive;

	scratch_write(&from, "file", "some text that is long enough");
	archive = pack(&from, &noted, &contents);
	size = lseek(archive, 0, SEEK_END);
	for (off_t at = 0; at < size; at += 7) {
		struct error err = {0};
		char byte, other;

		assert_int_equal(pread(archive, &byte, 1, at), 1);
		other = (char)(byte ^ 0x10);
		assert_int_equal(pwrite(archive, &other, 1, at), 1);
		/* A byte that means nothing may change; then all else is as it was. */
		if (unpack(archive, -1, &err) < 0)
			assert_true(err.text[0] != '\0');
		assert_int_equal(pwrite(archive, &byte, 1, at), 1);
	}
	for (off_t at = size - 1; at >= 0; at -= 11) {
		struct error err = {0};

		assert_int_equal(ftruncate(archive, at), 0);
		assert_int_equal(unpack(archive, -1, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	close(archive);
	scratch_done(&from);
}

#define MANIFEST                                                                                   \
	{                                                                                          \
		"manifest.json", AE_IFREG, NULL, "{\"a\":1}", 0644, NULL                           \
	}
#define DATA                                                                                       \
	{                                                                                          \
		"data", AE_IFDIR, NULL, NULL, 0755, NULL                                           \
	}

static void assert_hostile(const struct tar_row *rows, const char *why)
{
	struct scratch to = scratch_new(), other = scratch_new();
	struct error err = {0};
	int archive = tar_new(rows, NULL);

	scratch_write(&other, "kept", "x");
	assert_int_equal(unpack(archive, to.fd, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	close(archive);
	scratch_done(&to);
	scratch_done(&other);
}

TEST(names_that_lead_out_are_refused)
{
	static const char *const paths[] = {"/etc/x", "../x",   "data/../x", "data//x",
	                                    "other",  "data/.", "data/a/..", "x/data"};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		assert_hostile(
		        (const struct tar_row[]){
		                MANIFEST, DATA, {paths[i], AE_IFREG, NULL, "x", 0, NULL}, {0}},
		        "leads out");
}

TEST(links_are_not_followed)
{
	assert_hostile((const struct tar_row[]){MANIFEST,
	                                        DATA,
	                                        {"data/l", AE_IFLNK, "/tmp", NULL, 0, NULL},
	                                        {"data/l/x", AE_IFREG, NULL, "x", 0, NULL},
	                                        {0}},
	               "folder of it");
	assert_hostile(
	        (const struct tar_row[]){
	                MANIFEST, DATA, {"data/x", 0, "/etc/passwd", NULL, 0, NULL}, {0}},
	        "leads out");
	assert_hostile((const struct tar_row[]){MANIFEST,
	                                        DATA,
	                                        {"data/l", AE_IFLNK, "/etc", NULL, 0, NULL},
	                                        {"data/x", 0, "data/l/passwd", NULL, 0, NULL},
	                                        {0}},
	               "folder of it");
	assert_hostile((const struct tar_row[]){MANIFEST,
	                                        DATA,
	                                        {"data/l", AE_IFLNK, "/tmp/x", NULL, 0, NULL},
	                                        {"data/l", AE_IFREG, NULL, "x", 0, NULL},
	                                        {0}},
	               "unpack 'data/l'");
}

TEST(devices_and_other_archives_are_refused)
{
	assert_hostile(
	        (const struct tar_row[]){
	                MANIFEST, DATA, {"data/null", AE_IFCHR, NULL, NULL, 0, NULL}, {0}},
	        "device");
	assert_hostile((const struct tar_row[]){DATA, {0}}, "not a backup of a server");
	assert_hostile((const struct tar_row[]){MANIFEST, DATA, {0}}, "'end.json' is missing");
	assert_hostile(
	        (const struct tar_row[]){
	                MANIFEST, DATA, {"end.json", AE_IFREG, NULL, "{}", 0, NULL}, {0}},
	        "parts");
}

int main(void)
{
	return RUN(CASE(what_root_sees_comes_back),
	           CASE(a_layer_keeps_owners_whiteouts_and_overlays_attributes),
	           CASE(a_hostile_tree_leaves_only_itself_out),
	           CASE(an_attribute_that_a_tar_cannot_hold_harms_nothing),
	           CASE(a_cut_or_altered_archive_is_refused), CASE(names_that_lead_out_are_refused),
	           CASE(links_are_not_followed), CASE(devices_and_other_archives_are_refused));
}
