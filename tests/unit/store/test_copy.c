/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <sys/stat.h>
#include <unistd.h>

#include "store/projects.h"

static const char *copy_of(const struct folder *f, struct arena *a)
{
	return arena_format(a, "%s.copy", f->file);
}

TEST(a_database_is_copied_while_a_server_uses_it)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct project_record found, late = sample_project();
	struct store *store, *copy;
	struct stat status;

	folder_make(&folder);
	store = store_with_project(folder.dsn);
	assert_done(store_copy(folder.dsn, copy_of(&folder, &a), &err));
	assert_int_equal(stat(copy_of(&folder, &a), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	/* The first one goes on, and the copy stays as it was. */
	late.id = "late";
	late.name = "late";
	assert_done(store_project_insert(store, &late, &err));
	assert_done(store_open(arena_format(&a, "sqlite:%s", copy_of(&folder, &a)), &copy, &err));
	assert_done(store_project_find(copy, &a, PROJECT, &found, &err));
	assert_refused(store_project_find(copy, &a, "late", &found, &err), ERROR_NOT_FOUND);
	store_close(copy);
	store_close(store);
	(void)unlink(copy_of(&folder, &a));
	folder_remove(&folder);
}

TEST(a_copy_replaces_no_file_and_needs_its_folder)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	assert_done(store_copy(folder.dsn, copy_of(&folder, &a), &err));
	assert_refused(store_copy(folder.dsn, copy_of(&folder, &a), &err), ERROR_CONFLICT);
	assert_refused(store_copy(folder.dsn, "/nonexistent/copy", &err), ERROR_NOT_FOUND);
	(void)unlink(copy_of(&folder, &a));
	folder_remove(&folder);
}

TEST(other_databases_are_refused_by_name)
{
	struct error err = {0};

	assert_refused(store_copy("postgresql://atoll@db/atoll", "/tmp/never", &err),
	               ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "PostgreSQL"));
	assert_non_null(strstr(err.hint, "pg_dump"));
	assert_refused(store_copy("mysql:secret@x", "/tmp/never", &err), ERROR_INVALID);
	assert_null(strstr(err.text, "secret"));
	assert_int_equal(access("/tmp/never", F_OK), -1);
}

int main(void)
{
	return RUN(CASE(a_database_is_copied_while_a_server_uses_it),
	           CASE(a_copy_replaces_no_file_and_needs_its_folder),
	           CASE(other_databases_are_refused_by_name));
}
