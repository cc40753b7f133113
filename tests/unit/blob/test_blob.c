/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "blob/blob.h"

static char place[64];

static struct blob_store *open_store(void)
{
	struct blob_store *store = NULL;
	struct error err = {0};

	(void)snprintf(place, sizeof(place), "/tmp/atoll-blob-XXXXXX");
	assert_non_null(mkdtemp(place));
	assert_int_equal(blob_open(place, &store, &err), 0);
	return store;
}

static void close_store(struct blob_store *store)
{
	char command[128];

	blob_close(store);
	(void)snprintf(command, sizeof(command), "%s", place);
	assert_int_equal(unlinkat(AT_FDCWD, command, AT_REMOVEDIR), 0);
}

static void put(struct blob_store *store, const char *name, const char *text)
{
	const struct blob_put put = {.name = name, .size_max = 1 << 20};
	struct blob_writer *w;
	struct error err = {0};
	int64_t size;

	if (blob_put(store, &put, &w, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fd_write_all(blob_writer_fd(w), text, strlen(text), &err), 0);
	assert_int_equal(blob_commit(w, &size, &err), 0);
	assert_int_equal(size, strlen(text));
}

static void check(struct blob_store *store, const char *name, struct blob_range range,
                  const char *wanted)
{
	AUTO(buf_done) struct buf got = BUF(1 << 20);
	AUTO_CLOSE int fd = -1;
	struct error err = {0};
	int64_t size;

	if (blob_get(store, name, range, &fd, &size, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(size, strlen(wanted));
	assert_int_equal(fd_read_to_end(fd, &got, &err), 0);
	assert_string_equal(buf_text(&got), wanted);
}

static void remove_blob(struct blob_store *store, const char *name)
{
	struct error err = {0};

	assert_int_equal(blob_delete(store, name, &err), 0);
	assert_int_equal(blob_delete(store, name, &err), 0);
}

static unsigned count_files(void)
{
	DIR *dir = opendir(place);
	struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

TEST(a_blob_is_there_when_it_is_committed_and_read_in_ranges)
{
	struct blob_store *store = open_store();
	const struct blob_put request = {.name = "one", .size_max = 100};
	struct blob_stat found;
	struct blob_writer *w;
	struct error err = {0};
	int64_t size;

	assert_int_equal(blob_put(store, &request, &w, &err), 0);
	assert_int_equal(fd_write_all(blob_writer_fd(w), "0123456789", 10, &err), 0);
	assert_int_equal(blob_stat(store, "one", &found, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	error_clear(&err);
	assert_int_equal(blob_commit(w, &size, &err), 0);
	assert_int_equal(blob_stat(store, "one", &found, &err), 0);
	assert_int_equal(found.size, 10);
	check(store, "one", (struct blob_range){0, -1}, "0123456789");
	check(store, "one", (struct blob_range){3, 4}, "3456");
	check(store, "one", (struct blob_range){8, 100}, "89");
	check(store, "one", (struct blob_range){10, -1}, "");
	assert_int_equal(
	        blob_get(store, "one", (struct blob_range){11, -1}, &(int){0}, &size, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	remove_blob(store, "one");
	close_store(store);
}

TEST(what_is_given_up_or_too_large_leaves_nothing)
{
	struct blob_store *store = open_store();
	const struct blob_put request = {.name = "a", .size_max = 4};
	const struct blob_put immense = {
	        .name = "b", .size_max = BLOB_SIZE_MAX, .size_hint = BLOB_SIZE_MAX};
	struct blob_writer *w;
	struct error err = {0};
	int64_t size;

	assert_int_equal(blob_put(store, &request, &w, &err), 0);
	blob_abort(w);
	blob_abort(NULL);
	assert_int_equal(blob_put(store, &request, &w, &err), 0);
	assert_int_equal(fd_write_all(blob_writer_fd(w), "12345", 5, &err), 0);
	assert_int_equal(blob_commit(w, &size, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	error_clear(&err);
	assert_int_equal(blob_put(store, &immense, &w, &err), -1);
	assert_int_equal(err.code, ERROR_NO_SPACE);
	assert_int_equal(count_files(), 0);
	close_store(store);
}

TEST(a_name_is_written_once_even_by_two_at_a_time)
{
	struct blob_store *store = open_store();
	const struct blob_put request = {.name = "same", .size_max = 100};
	struct blob_writer *first, *second;
	struct error err = {0};
	int64_t size;

	assert_int_equal(blob_put(store, &request, &first, &err), 0);
	assert_int_equal(blob_put(store, &request, &second, &err), 0);
	assert_int_equal(blob_commit(first, &size, &err), 0);
	assert_int_equal(blob_commit(second, &size, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	error_clear(&err);
	assert_int_equal(blob_put(store, &request, &first, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	remove_blob(store, "same");
	assert_int_equal(count_files(), 0);
	close_store(store);
}

TEST(half_a_blob_goes_at_the_next_start_and_one_that_is_being_written_stays)
{
	struct blob_store *store = open_store(), *again;
	const struct blob_put request = {.name = "alive", .size_max = 100};
	struct blob_writer *w;
	struct error err = {0};
	char path[128];
	int64_t size;

	(void)snprintf(path, sizeof(path), "%s/.new-abandoned", place);
	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(blob_put(store, &request, &w, &err), 0);
	assert_int_equal(count_files(), 2);
	assert_int_equal(blob_open(place, &again, &err), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(blob_commit(w, &size, &err), 0);
	check(again, "alive", (struct blob_range){0, -1}, "");
	remove_blob(again, "alive");
	blob_close(again);
	close_store(store);
}

TEST(a_list_has_pages_and_prefixes_that_are_whole_parts)
{
	struct blob_store *store = open_store();
	AUTO(arena_done) struct arena a = {0};
	struct blob_filter filter = {.prefix = "b/", .limit = 2};
	struct blob_list list;
	struct error err = {0};
	char path[128];

	put(store, "a", "x");
	put(store, "b/3", "xxx");
	put(store, "b/1", "x");
	put(store, "b/2/deep", "xx");
	put(store, "bb", "x");
	assert_int_equal(blob_list(store, &a, &filter, &list, &err), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].name, "b/1");
	assert_string_equal(list.items[1].name, "b/2/deep");
	assert_int_equal(list.items[1].size, 2);
	filter.after = list.next_after;
	assert_int_equal(blob_list(store, &a, &filter, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "b/3");
	assert_null(list.next_after);
	filter = (struct blob_filter){.prefix = "", .limit = 1000};
	assert_int_equal(blob_list(store, &a, &filter, &list, &err), 0);
	assert_int_equal(list.count, 5);
	filter.prefix = "none/";
	assert_int_equal(blob_list(store, &a, &filter, &list, &err), 0);
	assert_int_equal(list.count, 0);
	filter.prefix = "b";
	assert_int_equal(blob_list(store, &a, &filter, &list, &err), -1);
	for (size_t i = 0; i < 5; i++)
		remove_blob(store, (const char *const[]){"a", "b/3", "b/1", "b/2/deep", "bb"}[i]);
	(void)snprintf(path, sizeof(path), "%s/b/2", place);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/b", place);
	(void)rmdir(path);
	close_store(store);
}

TEST(names_that_could_lead_anywhere_are_refused)
{
	static const char *const bad[] = {"",     "/a", "a/",  "a//b", "../a", "a/..",     ".new",
	                                  "a/.b", "A",  "a b", "a\n",  "ü",    "a/b/c/d/e"};
	struct error err = {0};
	char long_name[BLOB_NAME_MAX + 2];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(blob_name_check(bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(blob_name_check(long_name, &err), -1);
	long_name[BLOB_NAME_MAX] = '\0';
	assert_int_equal(blob_name_check(long_name, &err), 0);
	assert_int_equal(blob_name_check("backups/a1.tar.zst", &err), 0);
}

TEST(a_link_in_the_folder_leads_nowhere)
{
	struct blob_store *store = open_store();
	struct error err = {0};
	struct blob_stat found;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/link", place);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(blob_stat(store, "link", &found, &err), -1);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/folder", place);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(blob_stat(store, "folder", &found, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(rmdir(path), 0);
	close_store(store);
}

TEST(a_reader_that_goes_away_ends_its_thread_and_too_many_are_refused)
{
	struct blob_store *store = open_store();
	const struct blob_put request = {.name = "large", .size_max = 8 << 20};
	int fds[BLOB_READERS_MAX], more = -1;
	struct blob_writer *w;
	struct error err = {0};
	int64_t size;

	assert_int_equal(blob_put(store, &request, &w, &err), 0);
	assert_int_equal(ftruncate(blob_writer_fd(w), 4 << 20), 0);
	assert_int_equal(blob_commit(w, &size, &err), 0);
	for (unsigned i = 0; i < BLOB_READERS_MAX; i++)
		assert_int_equal(
		        blob_get(store, "large", (struct blob_range){0, -1}, &fds[i], &size, &err),
		        0);
	assert_int_equal(blob_get(store, "large", (struct blob_range){0, -1}, &more, &size, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	for (unsigned i = 0; i < BLOB_READERS_MAX; i++)
		(void)close(fds[i]);
	/* Their threads see it with their next byte. */
	for (unsigned i = 0; i < 1000; i++) {
		error_clear(&err);
		if (blob_get(store, "large", (struct blob_range){0, 1}, &more, &size, &err) == 0)
			break;
		(void)usleep(1000);
	}
	assert_true(more >= 0);
	(void)close(more);
	remove_blob(store, "large");
	close_store(store);
}

TEST(only_a_folder_that_is_there_is_a_place)
{
	struct blob_store *store;
	struct error err = {0};

	assert_int_equal(blob_open("s3://bucket", &store, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(blob_open("/nonexistent/blobs", &store, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(blob_open("/etc/hostname", &store, &err), -1);
	blob_close(NULL);
}

int main(void)
{
	return RUN(CASE(a_blob_is_there_when_it_is_committed_and_read_in_ranges),
	           CASE(what_is_given_up_or_too_large_leaves_nothing),
	           CASE(a_name_is_written_once_even_by_two_at_a_time),
	           CASE(half_a_blob_goes_at_the_next_start_and_one_that_is_being_written_stays),
	           CASE(a_list_has_pages_and_prefixes_that_are_whole_parts),
	           CASE(names_that_could_lead_anywhere_are_refused),
	           CASE(a_link_in_the_folder_leads_nowhere),
	           CASE(a_reader_that_goes_away_ends_its_thread_and_too_many_are_refused),
	           CASE(only_a_folder_that_is_there_is_a_place));
}
