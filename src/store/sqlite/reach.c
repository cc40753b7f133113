/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/reach.h"

#include <pthread.h>
#include <string.h>

static sqlite3_vfs reach_system;
static sqlite3_vfs *real_system;

bool reach_is_needed(const char *path)
{
	return strncmp(path, REACH_PREFIX, sizeof(REACH_PREFIX) - 1) == 0;
}

int reach_full_name(sqlite3_vfs *usual, const char *name, int size, char *out)
{
	size_t length = strlen(name);

	if (!reach_is_needed(name))
		return usual->xFullPathname(usual, name, size, out);
	if (length >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(out, name, length + 1);
	return SQLITE_OK;
}

static int full_name(UNUSED sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	return reach_full_name(real_system, name, size, out);
}

static int register_file_system(struct error *err)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

	if (!usual)
		return FAIL(err, ERROR_SYSTEM, "SQLite knows no file system");
	reach_system = *usual;
	reach_system.pNext = NULL;
	reach_system.zName = "atoll-reach";
	reach_system.xFullPathname = full_name;
	if (sqlite3_vfs_register(&reach_system, 0) != SQLITE_OK)
		return FAIL(err, ERROR_SYSTEM, "SQLite takes no other file system");
	real_system = usual;
	return 0;
}

int reach_file_system(const char **ret, struct error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int result = 0;

	pthread_mutex_lock(&mutex);
	if (!real_system)
		result = register_file_system(err);
	pthread_mutex_unlock(&mutex);
	if (result == 0)
		*ret = reach_system.zName;
	return result;
}
