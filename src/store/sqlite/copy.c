/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <unistd.h>

#define BUSY_MS 10000

static int copy_into(sqlite3 *from, const char *path, struct error *err)
{
	sqlite3_stmt *statement;
	int result;

	if (sqlite3_prepare_v2(from, "VACUUM INTO ?1", -1, &statement, NULL) != SQLITE_OK)
		return sqlite_fail(from, "read the database", err);
	result = sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	sqlite3_finalize(statement);
	return result == SQLITE_DONE ? 0 : sqlite_fail(from, "copy the database", err);
}

/* VACUUM INTO reads one state of the file, while other connections write. It accepts an empty file
 * that exists, which gives the copy its mode. */
int sqlite_copy(const char *place, const char *path, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	sqlite3 *from = NULL;
	int result;

	if (fd < 0)
		return FAIL_ERRNO(err, "make '%s'", path);
	/* No log can be opened without writing: a reader of a log registers itself in a shared
	 * file. */
	if (sqlite3_open_v2(place, &from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		result = sqlite_fail(from, "open the database", err);
	} else {
		sqlite3_busy_timeout(from, BUSY_MS);
		sqlite3_extended_result_codes(from, 1);
		result = copy_into(from, path, err);
	}
	sqlite3_close(from);
	return result;
}
