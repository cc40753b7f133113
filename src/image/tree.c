/* SPDX-License-Identifier: Apache-2.0 */
#include "image/tree.h"

#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NAMES_MAX 4096

static void close_walk(FTS **walk)
{
	if (*walk)
		(void)fts_close(*walk);
}

static int open_walk(const char *path, FTS **ret, struct error *err)
{
	/* fts(3) does not write to them. */
	char *paths[] = {(char *)(uintptr_t)path, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);

	if (!walk)
		return FAIL_ERRNO(err, "walk '%s'", path);
	*ret = walk;
	return 0;
}

static int remove_entry(const FTSENT *entry, bool also_itself, struct error *err)
{
	if (entry->fts_info == FTS_D || (entry->fts_level == FTS_ROOTLEVEL && !also_itself))
		return 0;
	if (entry->fts_info == FTS_NS && entry->fts_errno == ENOENT)
		return 0;
	if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
		errno = entry->fts_errno;
		return FAIL_ERRNO(err, "remove '%s'", entry->fts_path);
	}
	int ret =
	        entry->fts_info == FTS_DP ? rmdir(entry->fts_accpath) : unlink(entry->fts_accpath);
	if (ret < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", entry->fts_path);
	return 0;
}

int tree_remove(const char *path, bool also_itself, struct error *err)
{
	AUTO(close_walk) FTS *walk = NULL;

	if (open_walk(path, &walk, err) < 0)
		return -1;
	for (FTSENT *entry; (entry = fts_read(walk));)
		if (remove_entry(entry, also_itself, err) < 0)
			return -1;
	return 0;
}

/* A file with several names is counted by a share at each name. */
static int64_t size_of(const FTSENT *entry)
{
	int64_t names = entry->fts_info == FTS_D ? 1 : (int64_t)entry->fts_statp->st_nlink;

	return (int64_t)entry->fts_statp->st_blocks * 512 / (names > 0 ? names : 1);
}

int tree_size(const char *path, int64_t *ret_bytes, struct error *err)
{
	AUTO(close_walk) FTS *walk = NULL;
	int64_t bytes = 0;

	if (open_walk(path, &walk, err) < 0)
		return -1;
	for (FTSENT *entry; (entry = fts_read(walk));)
		if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS)
			bytes += size_of(entry);
	*ret_bytes = bytes;
	return 0;
}

static bool is_overlay_attribute(const char *name)
{
	return !strncmp(name, "trusted.", strlen("trusted.")) ||
	       !strncmp(name, "user.overlay.", strlen("user.overlay."));
}

static int strip_entry(const char *path, struct error *err)
{
	char names[NAMES_MAX];
	ssize_t size = llistxattr(path, names, sizeof(names));

	if (size < 0 && errno != ENOTSUP && errno != ENOENT)
		return FAIL_ERRNO(err, "list the attributes of '%s'", path);
	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
		if (is_overlay_attribute(names + at) && lremovexattr(path, names + at) < 0)
			return FAIL_ERRNO(err, "remove attribute '%s'", names + at);
	return 0;
}

int tree_strip_attributes(const char *path, struct error *err)
{
	AUTO(close_walk) FTS *walk = NULL;

	if (open_walk(path, &walk, err) < 0)
		return -1;
	for (FTSENT *entry; (entry = fts_read(walk));)
		if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS &&
		    strip_entry(entry->fts_accpath, err) < 0)
			return -1;
	return 0;
}
