/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/log_file.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite/reach.h"

/* Some thirty pages: a larger commit is written in parts. SQLite's own files take less than 128 KiB
 * at once. */
#define PENDING_MAX ((size_t)127 * 1024)

struct log_file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
	bool is_commit;     /* writes are collected only during a commit */
	char *pending;
	size_t pending_size;
	sqlite3_int64 pending_at;
};

static sqlite3_vfs log_system;
static sqlite3_vfs *real_system;

static struct log_file *log_of(sqlite3_file *file)
{
	return (struct log_file *)(void *)file;
}

/* Unwritten bytes stay, so that the commit's sync fails, too. */
static int flush_pending(struct log_file *log)
{
	int result;

	if (log->pending_size == 0)
		return SQLITE_OK;
	result = log->real->pMethods->xWrite(log->real, log->pending, (int)log->pending_size,
	                                     log->pending_at);
	if (result == SQLITE_OK)
		log->pending_size = 0;
	return result;
}

static int file_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
	struct log_file *log = log_of(file);
	size_t count = (size_t)size;
	int result = SQLITE_OK;

	if (at != log->pending_at + (sqlite3_int64)log->pending_size ||
	    count > PENDING_MAX - log->pending_size)
		result = flush_pending(log);
	if (result != SQLITE_OK)
		return result;
	if (!log->is_commit || count > PENDING_MAX)
		return log->real->pMethods->xWrite(log->real, data, size, at);
	if (log->pending_size == 0)
		log->pending_at = at;
	memcpy(log->pending + log->pending_size, data, count);
	log->pending_size += count;
	return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct log_file *log = log_of(file);
	int result = flush_pending(log);

	if (result != SQLITE_OK || (flags & SQLITE_SYNC_FULL) != SQLITE_SYNC_FULL)
		return result;
	return log->real->pMethods->xSync(log->real, flags);
}

static int file_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
	struct log_file *log = log_of(file);
	int result = flush_pending(log);

	return result == SQLITE_OK ? log->real->pMethods->xRead(log->real, data, size, at) : result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct log_file *log = log_of(file);
	int result = flush_pending(log);

	return result == SQLITE_OK ? log->real->pMethods->xTruncate(log->real, size) : result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct log_file *log = log_of(file);
	int result = flush_pending(log);

	return result == SQLITE_OK ? log->real->pMethods->xFileSize(log->real, ret) : result;
}

static int file_close(sqlite3_file *file)
{
	struct log_file *log = log_of(file);

	free(log->pending);
	return log->real->pMethods->xClose(log->real);
}

static int file_lock(sqlite3_file *file, int lock)
{
	return log_of(file)->real->pMethods->xLock(log_of(file)->real, lock);
}

static int file_unlock(sqlite3_file *file, int lock)
{
	return log_of(file)->real->pMethods->xUnlock(log_of(file)->real, lock);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
	return log_of(file)->real->pMethods->xCheckReservedLock(log_of(file)->real, ret);
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
	return log_of(file)->real->pMethods->xFileControl(log_of(file)->real, what, argument);
}

static int file_sector_size(sqlite3_file *file)
{
	return log_of(file)->real->pMethods->xSectorSize(log_of(file)->real);
}

static int file_traits(sqlite3_file *file)
{
	return log_of(file)->real->pMethods->xDeviceCharacteristics(log_of(file)->real);
}

/* Version 1: shared memory and maps belong to the database's own file. */
static const sqlite3_io_methods log_methods = {
        .iVersion = 1,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_lock,
        .xFileControl = file_control,
        .xSectorSize = file_sector_size,
        .xDeviceCharacteristics = file_traits,
};

static int file_open(UNUSED sqlite3_vfs *system, const char *name, sqlite3_file *file, int flags,
                     int *out)
{
	struct log_file *log = log_of(file);
	int result;

	if (!(flags & SQLITE_OPEN_WAL))
		return real_system->xOpen(real_system, name, file, flags, out);
	*log = (struct log_file){.real = (sqlite3_file *)(void *)(log + 1)};
	result = real_system->xOpen(real_system, name, log->real, flags, out);
	if (result != SQLITE_OK) {
		/* SQLite closes what has methods, and this has none yet. */
		if (log->real->pMethods)
			log->real->pMethods->xClose(log->real);
		return result;
	}
	log->pending = malloc(PENDING_MAX);
	if (!log->pending)
		abort();
	log->base.pMethods = &log_methods;
	return SQLITE_OK;
}

/* NULL when its log uses another file system, or does not exist. */
static struct log_file *log_of_connection(sqlite3 *handle)
{
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK)
		return NULL;
	return file && file->pMethods == &log_methods ? log_of(file) : NULL;
}

int log_file_commit(sqlite3_stmt *commit)
{
	struct log_file *log = log_of_connection(sqlite3_db_handle(commit));
	int result;

	if (!log)
		return sqlite3_step(commit);
	log->is_commit = true;
	result = sqlite3_step(commit);
	log->is_commit = false;
	assert(log->pending_size == 0 || result != SQLITE_DONE);
	log->pending_size = 0; /* of a commit that failed */
	return result;
}

static int full_name(UNUSED sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	return reach_full_name(real_system, name, size, out);
}

/* With the mutex held. A test puts another file system in the usual one's place. */
static int register_file_system(struct error *err)
{
	sqlite3_vfs *usual;

	sqlite3_vfs_unregister(&log_system);
	usual = sqlite3_vfs_find(NULL);
	if (!usual)
		return FAIL(err, ERROR_SYSTEM, "SQLite knows no file system");
	real_system = usual;
	log_system = *usual;
	log_system.pNext = NULL;
	log_system.zName = "atoll-log";
	log_system.szOsFile = (int)sizeof(struct log_file) + usual->szOsFile;
	log_system.xOpen = file_open;
	log_system.xFullPathname = full_name;
	if (sqlite3_vfs_register(&log_system, 0) != SQLITE_OK)
		return FAIL(err, ERROR_SYSTEM, "SQLite takes no other file system");
	return 0;
}

int log_file_system(const char **ret, struct error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int result = 0;

	pthread_mutex_lock(&mutex);
	if (!real_system || sqlite3_vfs_find(NULL) != real_system)
		result = register_file_system(err);
	pthread_mutex_unlock(&mutex);
	if (result == 0)
		*ret = log_system.zName;
	return result;
}
