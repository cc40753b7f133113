/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"
#include "agent/tar_block.h"
#include "base/path.h"

/* ---- the format ---- */

static ssize_t read_span(void *context, char *out, size_t size, struct error *err)
{
	struct span *rest = context;
	size_t got = size < rest->size ? size : rest->size;

	(void)err;
	memcpy(out, rest->data, got);
	rest->data += got;
	rest->size -= got;
	return (ssize_t)got;
}

static struct tar_reader reader_of(struct span *stream)
{
	return (struct tar_reader){.read = read_span, .context = stream};
}

static void expect_round_trip(const struct tar_entry *in)
{
	AUTO(buf_done) struct buf stream = BUF(1 << 20);
	AUTO(tar_reader_done) struct tar_reader r;
	struct tar_entry out;
	struct error err;
	struct span rest;

	tar_add_header(&stream, in);
	if (in->size < 1000)
		buf_add(&stream, "0123456789", (size_t)in->size);
	buf_add(&stream, (char[TAR_BLOCK]){0}, (size_t)tar_padding(in->size));
	tar_add_end(&stream);
	rest = buf_span(&stream);
	r = reader_of(&rest);
	if (tar_next(&r, &out, &err) != 1)
		fail_msg("%s", err.text);
	assert_int_equal(out.type, in->type);
	assert_string_equal(out.name, in->name);
	assert_string_equal(out.link, in->link);
	assert_int_equal(out.mode, in->mode);
	assert_int_equal(out.uid, in->uid);
	assert_int_equal(out.size, in->size);
	assert_int_equal(out.modified_s, in->modified_s);
	if (in->size < 1000)
		assert_int_equal(tar_next(&r, &out, &err), 0);
}

TEST(entries_come_back_as_they_were)
{
	char name[3000], link[2000];

	memset(name, 'n', sizeof(name));
	memset(link, 'l', sizeof(link));
	name[2999] = link[1999] = '\0';
	expect_round_trip(&(struct tar_entry){
	        .name = "a/file", .link = "", .mode = 04755, .size = 10, .modified_s = 1234567890});
	expect_round_trip(&(struct tar_entry){
	        .type = TAR_FOLDER, .name = "folder/", .link = "", .uid = 70000, .gid = 3});
	expect_round_trip(&(struct tar_entry){
	        .type = TAR_SYMLINK, .name = name, .link = link, .uid = 4294967294});
	expect_round_trip(&(struct tar_entry){.type = TAR_HARDLINK, .name = "b", .link = "a"});
	expect_round_trip(&(struct tar_entry){
	        .name = name, .link = "", .size = 1ULL << 40, .modified_s = 1LL << 33});
}

static void fix_checksum(struct tar_block *block)
{
	(void)snprintf(block->checksum, sizeof(block->checksum), "%06o", tar_checksum(block));
}

static struct error refuse(struct tar_block *block)
{
	AUTO(buf_done) struct buf stream = BUF(1 << 20);
	AUTO(tar_reader_done) struct tar_reader r;
	struct error err = {0};
	struct tar_entry entry;
	struct span rest;

	fix_checksum(block);
	buf_add(&stream, block, sizeof(*block));
	rest = buf_span(&stream);
	r = reader_of(&rest);
	assert_int_equal(tar_next(&r, &entry, &err), -1);
	return err;
}

static struct tar_block block_of(char type)
{
	struct tar_block block = {.name = "x", .size = "0", .magic = "ustar", .type = type};

	return block;
}

TEST(what_is_no_tar_or_no_file_is_refused)
{
	struct tar_block block = block_of('3');
	AUTO(tar_reader_done) struct tar_reader r;
	struct span noise = SPAN("this is not a tar");
	struct tar_entry entry;
	struct error err;

	assert_int_equal(refuse(&block).code, ERROR_UNSUPPORTED);
	block = block_of('6');
	assert_int_equal(refuse(&block).code, ERROR_UNSUPPORTED);
	block = block_of('S');
	assert_int_equal(refuse(&block).code, ERROR_UNSUPPORTED);
	block = block_of('0');
	memcpy(block.size, "12x", 4);
	assert_int_equal(refuse(&block).code, ERROR_INVALID);
	memset(block.size, 0xff, sizeof(block.size));
	block.size[0] = (char)0x80;
	assert_int_equal(refuse(&block).code, ERROR_INVALID);
	block = block_of('x');
	memcpy(block.size, "77777777777", 12);
	assert_int_equal(refuse(&block).code, ERROR_INVALID);
	r = reader_of(&noise);
	assert_int_equal(tar_next(&r, &entry, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(malformed_pax_records_are_refused)
{
	static const char *const records[] = {
	        "x",          "5 a=\n",        "99 path=a\n",      "0 path=a\n",
	        "9 pathaa\n", "10 path=a\n\n", "14 size=-100\n\n", "3 =\n"};

	for (size_t i = 0; i < COUNT_OF(records); i++) {
		AUTO(buf_done) struct buf stream = BUF(1 << 20);
		AUTO(tar_reader_done) struct tar_reader r;
		struct tar_block block = block_of('x');
		struct tar_entry entry;
		struct error err;
		struct span rest;

		(void)snprintf(block.size, sizeof(block.size), "%03o",
		               (unsigned)strlen(records[i]) & 0777);
		fix_checksum(&block);
		buf_add(&stream, &block, sizeof(block));
		buf_add_text(&stream, records[i]);
		buf_add(&stream, (char[TAR_BLOCK]){0}, TAR_BLOCK - strlen(records[i]));
		rest = buf_span(&stream);
		r = reader_of(&rest);
		if (tar_next(&r, &entry, &err) > 0)
			fail_msg("accepted '%s'", records[i]);
	}
}

/* ---- with GNU tar ---- */

static void must(struct box *b, const char *line)
{
	int status = system(arena_format(&b->arena, "cd %s && %s", b->folder, line));

	if (status != 0)
		fail_msg("'%s': %d", line, status);
}

static void make_tree(struct box *b)
{
	must(b,
	     "mkdir -p src/deep/er && echo text > src/file && head -c 300000 /dev/urandom > "
	     "src/deep/random && ln -s ../file src/deep/link && ln src/file src/hard && "
	     "chmod 4751 src/file && : > src/empty && mkfifo src/fifo && "
	     "n=$(printf 'n%.0s' $(seq 120)) && mkdir -p src/$n/$n && echo long > src/$n/$n/$n && "
	     "ln -s $n/$n/$n src/longlink && touch -d @1000000000 src/empty");
}

static void tar_in(struct box *b, int fd, const struct agent_path *path, const char *archive)
{
	AUTO(buf_done) struct buf bytes = BUF(64 << 20);
	FILE *file = fopen(box_path(b, archive), "re");
	char *at = buf_reserve(&bytes, 16 << 20);

	buf_commit(&bytes, fread(at, 1, 16 << 20, file));
	(void)fclose(file);
	say(b, fd, AGENT_TAR_IN, agent_path_shape, path);
	HEAR_EMPTY(b, fd, AGENT_READY);
	send_bytes(b, fd, buf_span(&bytes));
}

static void tar_out(struct box *b, int fd, const struct agent_path *path, const char *archive)
{
	AUTO(buf_done) struct buf bytes = BUF(64 << 20);
	FILE *file = fopen(box_path(b, archive), "we");

	say(b, fd, AGENT_TAR_OUT, agent_path_shape, path);
	HEAR_EMPTY(b, fd, AGENT_READY);
	collect(b, fd, &bytes);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	(void)fclose(file);
}

TEST(gnu_tar_reads_what_the_agent_packs)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	struct agent_path path = beneath(&b, "src");

	make_tree(&b);
	tar_out(&b, fd, &path, "out.tar");
	must(&b, "mkdir x && tar -C x -xpf out.tar && rm src/fifo && diff -r src x && "
	         "test $(stat -c %a x/file) = 4751 && test x/file -ef x/hard && "
	         "test \"$(readlink x/deep/link)\" = ../file && "
	         "test $(stat -c %Y x/empty) = 1000000000");
	path.path = "src/file";
	tar_out(&b, fd, &path, "one.tar");
	must(&b, "test \"$(tar -tf one.tar)\" = file");
	(void)close(fd);
	box_end(&b);
}

static void ask_for(struct box *b, int fd, const struct agent_path *path, struct span names)
{
	say(b, fd, AGENT_TAR_OUT, agent_path_shape, path);
	send_bytes(b, fd, names);
}

/* Packs them into "out.tar", and lists that. */
static const char *pack_names(struct box *b, int fd, const struct agent_path *path,
                              struct span names)
{
	AUTO(buf_done) struct buf bytes = BUF(64 << 20);
	FILE *file = fopen(box_path(b, "out.tar"), "we");

	ask_for(b, fd, path, names);
	HEAR_EMPTY(b, fd, AGENT_READY);
	collect(b, fd, &bytes);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	(void)fclose(file);
	must(b, "tar -tf out.tar | tr '\\n' ' ' > listed");
	return box_get(b, "listed");
}

static struct agent_path chosen_of(struct box *b, const char *folder)
{
	struct agent_path path = beneath(b, folder);

	path.flags |= AGENT_PATH_NAMES;
	return path;
}

TEST(of_a_folder_the_agent_packs_what_is_named)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	struct agent_path path = chosen_of(&b, "src");

	make_tree(&b);
	must(&b, "printf x > 'src/new\nline' && ln -s deep src/way && ln -s ../out src/leaves && "
	         "mkdir out && echo secret > out/secret");
	assert_string_equal(pack_names(&b, fd, &path,
	                               SPAN("hard\0./deep/random\0missing\0file/below\0fifo\0"
	                                    "deep/link\0deep\0way/random\0leaves/secret\0file\0"
	                                    "new\nline\0")),
	                    "hard deep/random deep/link deep/ file new\\nline ");
	/* Each of two names of one file has the bytes; a folder brings nothing along. */
	must(&b,
	     "mkdir x && tar -C x -xpf out.tar && cmp src/file x/hard && cmp src/file x/file && "
	     "test ! x/file -ef x/hard && cmp src/deep/random x/deep/random && "
	     "test \"$(readlink x/deep/link)\" = ../file && test ! -e x/deep/er");
	assert_string_equal(pack_names(&b, fd, &path, (struct span){NULL, 0}), "");
	path.path = "gone";
	ask_for(&b, fd, &path, SPAN("file\0"));
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	path.path = "src";
	assert_string_equal(pack_names(&b, fd, &path, SPAN("empty\0")), "empty ");
	(void)close(fd);
	box_end(&b);
}

TEST(names_that_leave_the_folder_or_are_too_many_are_refused_and_the_connection_goes_on)
{
	static const struct span refused[] = {
	        SPAN("../file\0"),     SPAN("deep/../../file\0"),
	        SPAN("/etc/passwd\0"), SPAN("a//b\0"),
	        SPAN("file\0file"),    SPAN("\0"),
	        SPAN("./\0"),          SPAN(".\0"),
	};
	AUTO(buf_done) struct buf many = BUF(4 << 20);
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	struct agent_path path = chosen_of(&b, "src");

	must(&b, "mkdir -p src/deep && echo x > src/file && echo x > file");
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		ask_for(&b, fd, &path, refused[i]);
		assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	}
	for (int i = 0; i <= AGENT_NAMES_MAX; i++)
		buf_add(&many, "file", 5);
	ask_for(&b, fd, &path, buf_span(&many));
	assert_int_equal(hear_failed(&b, fd).code, ERROR_TOO_LARGE);
	while (many.size <= AGENT_NAMES_BYTES_MAX)
		buf_add(&many, "a long name", 12);
	ask_for(&b, fd, &path, buf_span(&many));
	assert_int_equal(hear_failed(&b, fd).code, ERROR_TOO_LARGE);
	buf_reset(&many);
	for (int i = 0; i < PATH_SIZE_MAX - 1; i++)
		buf_add_byte(&many, i % 2 ? '/' : 'a');
	buf_add_byte(&many, '\0');
	ask_for(&b, fd, &path, buf_span(&many));
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	assert_string_equal(pack_names(&b, fd, &path, SPAN("file\0")), "file ");
	(void)close(fd);
	box_end(&b);
}

TEST(the_agent_unpacks_what_gnu_tar_packs_in_any_format)
{
	static const char *const formats[] = {"gnu", "pax", "oldgnu"};
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);

	make_tree(&b);
	must(&b, "rm src/fifo");
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		struct agent_path path = beneath(&b, "in/to");

		path.flags |= AGENT_PATH_PARENTS;
		must(&b, arena_format(&b.arena, "rm -rf in; tar -C src --format=%s -cf in.tar .",
		                      formats[i]));
		tar_in(&b, fd, &path, "in.tar");
		assert_int_equal(hear_done(&b, fd), 11);
		must(&b, "diff -r src in/to && test $(stat -c %a in/to/file) = 4751 && "
		         "test in/to/file -ef in/to/hard && "
		         "test $(stat -c %Y in/to/empty) = 1000000000");
		/* Once more, over what is there. */
		tar_in(&b, fd, &path, "in.tar");
		assert_int_equal(hear_done(&b, fd), 11);
		must(&b, "diff -r src in/to");
	}
	(void)close(fd);
	box_end(&b);
}

TEST(an_archive_cannot_write_outside_of_its_folder)
{
	static const char *const packs[] = {
	        "tar -P -cf bad.tar --transform 's,^,../,' evil",
	        "tar -P -cf bad.tar --transform 's,^,/tmp/,' evil",
	        "tar -P -cf bad.tar --transform 's,^,a/../../,' evil",
	        "sh pack-link",
	        "ln evil link && tar -P -cf bad.tar --transform 's,^,../,' evil link",
	};
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);

	must(&b, "mkdir in && echo evil > evil");
	/* A link first, then a file through it. */
	box_put(&b, "pack-link",
	        "ln -s .. hole && tar -cf bad.tar hole && "
	        "tar -rf bad.tar --transform 's,^,hole/,' evil");
	for (size_t i = 0; i < COUNT_OF(packs); i++) {
		struct agent_path path = beneath(&b, "in");
		struct agent_failed failed;

		must(&b, packs[i]);
		must(&b, "rm -f evil link");
		tar_in(&b, fd, &path, "bad.tar");
		failed = hear_failed(&b, fd);
		assert_int_equal(failed.code, ERROR_FORBIDDEN);
		must(&b, "test ! -e evil && test ! -e /tmp/evil && rm -rf in hole && mkdir in && "
		         "echo evil > evil");
	}
	(void)close(fd);
	box_end(&b);
}

TEST(a_broken_archive_is_refused_and_the_connection_goes_on)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	struct agent_path path = beneath(&b, "in");

	make_tree(&b);
	must(&b, "mkdir in && rm src/fifo && tar -C src -cf whole.tar . && "
	         "head -c 200000 whole.tar > cut.tar && head -c 4096 /dev/urandom > noise.tar");
	tar_in(&b, fd, &path, "cut.tar");
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	tar_in(&b, fd, &path, "noise.tar");
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	path.size_max = 100000;
	tar_in(&b, fd, &path, "whole.tar");
	assert_int_equal(hear_failed(&b, fd).code, ERROR_TOO_LARGE);
	path.size_max = 0;
	tar_in(&b, fd, &path, "whole.tar");
	(void)hear_done(&b, fd);
	must(&b, "diff -r src in && test -z \"$(find . -name '.atoll*')\"");
	(void)close(fd);
	box_end(&b);
}

TEST(an_archive_may_get_another_owner_and_mode)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	struct agent_path path = beneath(&b, "in/to");

	must(&b, "mkdir -p src/deep && echo x > src/deep/file && ln -s deep/file src/link && "
	         "tar -C src -cf in.tar .");
	path.flags |= AGENT_PATH_PARENTS;
	path.mode = 0640;
	tar_in(&b, fd, &path, "in.tar");
	(void)hear_done(&b, fd);
	must(&b, "test $(stat -c %a in/to/deep/file) = 640 && test $(stat -c %a in/to/deep) = 750");
	path.target = "no-such-user";
	say(&b, fd, AGENT_TAR_IN, agent_path_shape, &path);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	if (geteuid() == 0) {
		path.target = "65534";
		must(&b, "rm -rf in");
		tar_in(&b, fd, &path, "in.tar");
		(void)hear_done(&b, fd);
		must(&b,
		     "test $(stat -c %u:%a in/to/deep/file) = 65534:640 && "
		     "test $(stat -c %u in/to) = 65534 && test $(stat -c %u in/to/deep) = 65534 "
		     "&& test $(stat -c %u in/to/link) = 65534");
	}
	(void)close(fd);
	box_end(&b);
}

int main(void)
{
	return RUN(
	        CASE(entries_come_back_as_they_were), CASE(what_is_no_tar_or_no_file_is_refused),
	        CASE(malformed_pax_records_are_refused), CASE(gnu_tar_reads_what_the_agent_packs),
	        CASE(of_a_folder_the_agent_packs_what_is_named),
	        CASE(names_that_leave_the_folder_or_are_too_many_are_refused_and_the_connection_goes_on),
	        CASE(the_agent_unpacks_what_gnu_tar_packs_in_any_format),
	        CASE(an_archive_cannot_write_outside_of_its_folder),
	        CASE(an_archive_may_get_another_owner_and_mode),
	        CASE(a_broken_archive_is_refused_and_the_connection_goes_on));
}
