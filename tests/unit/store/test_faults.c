/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong below the store: a file system of ours, over the real one, fails the n-th call
 * that would change a file. */
#include "samples.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "sandbox/events.h"
#include "store/events.h"

static struct {
	int countdown; /* changing calls until the first failure; -1 = never */
	int result;    /* what that call and all after it answer */
	unsigned failures;
} fault;

static sqlite3_vfs faulty_vfs;
static sqlite3_vfs *real_vfs;
/* SQLite has a set of methods per kind of locking: the log's files have another than the main one.
 */
static struct wrap {
	sqlite3_io_methods methods; /* what the file has */
	const sqlite3_io_methods *real;
} wraps[4];

static bool fails_now(void)
{
	if (fault.countdown < 0)
		return false;
	if (fault.countdown > 0) {
		fault.countdown--;
		return false;
	}
	fault.failures++;
	return true;
}

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
	return ((const struct wrap *)(const void *)file->pMethods)->real;
}

static int faulty_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
	return fails_now() ? fault.result : real_of(file)->xWrite(file, data, size, at);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
	/* A disk that is full is so for writes; one that is broken, for both. */
	if (fault.result == SQLITE_IOERR_WRITE && fails_now())
		return SQLITE_IOERR_FSYNC;
	return real_of(file)->xSync(file, flags);
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	int result = real_vfs->xOpen(real_vfs, name, file, flags, out);

	(void)vfs;
	if (result != SQLITE_OK || !file->pMethods)
		return result;
	for (size_t i = 0; i < COUNT_OF(wraps); i++) {
		if (!wraps[i].real) {
			wraps[i] = (struct wrap){*file->pMethods, file->pMethods};
			wraps[i].methods.xWrite = faulty_write;
			wraps[i].methods.xSync = faulty_sync;
		}
		if (wraps[i].real == file->pMethods) {
			file->pMethods = &wraps[i].methods;
			return SQLITE_OK;
		}
	}
	return SQLITE_INTERNAL;
}

static int set_up(void **state)
{
	(void)state;
	fault.countdown = -1;
	fault.failures = 0;
	real_vfs = sqlite3_vfs_find("unix");
	faulty_vfs = *real_vfs;
	faulty_vfs.zName = "faulty";
	faulty_vfs.xOpen = faulty_open;
	return sqlite3_vfs_register(&faulty_vfs, 1);
}

static int tear_down(void **state)
{
	(void)state;
	fault.countdown = -1;
	return sqlite3_vfs_unregister(&faulty_vfs);
}

/* A life in four changes; `done` counts those that were answered with success. */
static int live(struct store *s, const char *id, unsigned *done, struct error *err)
{
	static const enum sandbox_state states[] = {SANDBOX_PENDING, SANDBOX_CREATING,
	                                            SANDBOX_STARTED, SANDBOX_DELETING};
	struct sandbox_record r = sample_sandbox(id, id);

	*done = 0;
	if (store_sandbox_insert(s, &r, 0, err) < 0)
		return -1;
	for (*done = 1; *done < COUNT_OF(states); ++*done) {
		struct sandbox_move move = sample_move(id, states[*done - 1], states[*done]);

		if (store_sandbox_move(s, &move, err) < 0)
			return -1;
	}
	return 0;
}

/* After the fault is over, the file holds what was answered, and no half of anything else. */
static void check_truth(struct store *s, const char *id, unsigned done)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_record r;
	struct event_list events;

	if (done == 0) {
		assert_refused(store_sandbox_find(s, &a, PROJECT, id, &r, &err), ERROR_NOT_FOUND);
		return;
	}
	assert_done(store_sandbox_find(s, &a, PROJECT, id, &r, &err));
	assert_int_equal(r.version, done);
	assert_done(store_event_list(s, &a, &(struct event_page){.sandbox_id = id, .limit = 100},
	                             &events, &err));
	assert_int_equal(events.count, done);
	assert_string_equal(events.items[done - 1].kind,
	                    event_kind_name(event_kind_of_move(SANDBOX_PENDING, r.actual)));
}

static void fail_each_write(int result, enum error_code code)
{
	struct folder folder;
	bool was_hit = true;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	for (int n = 0; was_hit; n++) {
		struct error err = {0};
		struct store *s = NULL;
		struct id id = id_new();
		unsigned done = 0;

		assert_true(n < 200);
		assert_done(store_open(folder.dsn, &s, &err));
		fault.result = result;
		fault.failures = 0;
		fault.countdown = n;
		was_hit = live(s, id.text, &done, &err) < 0;
		fault.countdown = -1;
		if (was_hit && (err.code != code || !*err.hint))
			fail_msg("write %d: code %d: %s", n, err.code, err.text);
		assert_int_equal(was_hit, fault.failures > 0);
		check_truth(s, id.text, done);
		/* The same store goes on working. */
		id = id_new();
		assert_done(live(s, id.text, &done, &err));
		store_close(s);
		assert_done(store_open(folder.dsn, &s, &err));
		check_truth(s, id.text, done);
		store_close(s);
	}
	folder_remove(&folder);
}

static void a_full_disk_at_any_write_is_told_and_loses_nothing(void **state)
{
	(void)state;
	fail_each_write(SQLITE_FULL, ERROR_NO_SPACE);
}

static void a_broken_disk_at_any_write_is_told_and_loses_nothing(void **state)
{
	(void)state;
	fail_each_write(SQLITE_IOERR_WRITE, ERROR_SYSTEM);
}

static void a_locked_file_is_waited_for_and_then_told(void **state)
{
	struct error err = {0};
	struct folder folder;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct store *s;
	sqlite3 *other;

	(void)state;
	folder_make(&folder);
	s = store_with_project(folder.dsn);
	assert_int_equal(sqlite3_open(folder.file, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_refused(store_sandbox_insert(s, &r, 0, &err), ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.hint, "another process"));
	assert_done(store_ping(s, &err));
	sqlite3_close(other);
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	store_close(s);
	folder_remove(&folder);
}

static void damage(const struct folder *f, off_t at, size_t size)
{
	char rubbish[4096];
	int fd = open(f->file, O_WRONLY | O_CLOEXEC);

	memset(rubbish, 0xa5, sizeof(rubbish));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, rubbish, size, at), size);
	close(fd);
}

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state)
{
	struct error err = {0};
	struct folder folder;
	struct store *s = NULL;
	char head[16];
	int fd;

	(void)state;
	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	damage(&folder, 0, 16);
	assert_refused(store_open(folder.dsn, &s, &err), ERROR_SYSTEM);
	assert_true(*err.hint != '\0');
	fd = open(folder.file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal((unsigned char)head[0], 0xa5);
	close(fd);
	folder_remove(&folder);
}

static void damaged_pages_are_told_by_whatever_meets_them(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct project_record found;
	struct store *s = NULL;

	(void)state;
	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	for (off_t page = 1; page < 8; page++)
		damage(&folder, page * 4096, 4096);
	if (store_open(folder.dsn, &s, &err) == 0) {
		assert_refused(store_project_find(s, &a, PROJECT, &found, &err), ERROR_SYSTEM);
		store_close(s);
	}
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_non_null(strstr(err.hint, "recover"));
	folder_remove(&folder);
}

static void a_word_that_this_program_does_not_know_is_told(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct store *s;
	sqlite3 *other;

	(void)state;
	folder_make(&folder);
	s = store_with_project(folder.dsn);
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_int_equal(sqlite3_open(folder.file, &other), SQLITE_OK);
	assert_int_equal(
	        sqlite3_exec(other, "UPDATE sandboxes SET actual = 'melted'", NULL, NULL, NULL),
	        SQLITE_OK);
	sqlite3_close(other);
	assert_refused(store_sandbox_find(s, &a, PROJECT, id.text, &r, &err), ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "melted"));
	store_close(s);
	folder_remove(&folder);
}

static void addresses_that_lead_nowhere_are_refused(void **state)
{
	static const struct {
		const char *dsn;
		enum error_code code;
	} cases[] = {
	        {"", ERROR_INVALID},
	        {"mysql://root:secret@db", ERROR_INVALID},
	        {"sqlite:/nonexistent/folder/atoll.db", ERROR_NOT_FOUND},
	        {"sqlite:", ERROR_NOT_FOUND},
	        {"sqlite:/tmp", ERROR_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err = {0};
		struct store *s = NULL;

		assert_int_equal(store_open(cases[i].dsn, &s, &err), -1);
		assert_null(s);
		assert_null(strstr(err.text, "secret"));
		if (cases[i].code != err.code && strcmp(cases[i].dsn, "sqlite:/tmp") != 0)
			fail_msg("%s: %d %s", cases[i].dsn, err.code, err.text);
	}
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest cases[] = {
	        EACH(a_full_disk_at_any_write_is_told_and_loses_nothing),
	        EACH(a_broken_disk_at_any_write_is_told_and_loses_nothing),
	        EACH(a_locked_file_is_waited_for_and_then_told),
	        EACH(a_file_that_is_no_database_is_refused_and_left_alone),
	        EACH(damaged_pages_are_told_by_whatever_meets_them),
	        EACH(a_word_that_this_program_does_not_know_is_told),
	        EACH(addresses_that_lead_nowhere_are_refused),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
