/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a local file by a received one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "cli/sync/sync.h"

#define BESIDE_MAX 100

/* Names reserved for sync: ".atoll-sync-ID" holds received bytes, ".atoll-sync-ID-NAME" a file that
 * is being exchanged with NAME. */
static bool has_id(const char *name, char after)
{
	size_t size = strlen(SYNC_PART_PREFIX);

	return strncmp(name, SYNC_PART_PREFIX, size) == 0 && strlen(name) >= size + ID_SIZE &&
	       name[size + ID_SIZE] == after;
}

bool sync_is_part(const char *name)
{
	return has_id(name, '\0');
}

const char *sync_exchanged_name(const char *name)
{
	const char *end = name + strlen(SYNC_PART_PREFIX) + ID_SIZE + 1;

	return has_id(name, '-') && *end ? end : NULL;
}

bool sync_part_is_ours(const struct folder_sync *s, const struct sync_part *part)
{
	struct stat ours, now;

	return fstat(part->fd, &ours) == 0 &&
	       fstatat(s->folder, part->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_ino == now.st_ino && ours.st_dev == now.st_dev;
}

int sync_keep_beside(struct folder_sync *s, const char *old, const struct sync_place *at,
                     struct error *err)
{
	time_t now = time(NULL);
	struct tm tm;
	char stamp[32], beside[256] = "";
	int result = -1;

	(void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", gmtime_r(&now, &tm));
	errno = EEXIST;
	for (int i = 0; result < 0 && errno == EEXIST && i < BESIDE_MAX; i++) {
		char suffix[16] = "";

		if (i > 0)
			(void)snprintf(suffix, sizeof(suffix), "-%d", i + 1);
		(void)snprintf(beside, sizeof(beside), "%.200s.conflict-%s%s", at->name, stamp,
		               suffix);
		result = renameat2(s->folder, old, at->parent, beside, RENAME_NOREPLACE);
	}
	if (result < 0)
		return FAIL_ERRNO(err, "keep '%s' beside", at->path);
	s->conflicts++;
	sync_say(s, "conflict", at->path, beside);
	return 0;
}

int sync_put_back(struct folder_sync *s, const struct sync_part *part, const struct sync_place *at,
                  struct error *err)
{
	if (renameat2(s->folder, part->name, at->parent, at->name, RENAME_EXCHANGE) == 0) {
		if (sync_part_is_ours(s, part))
			return 0;
		/* The received file was replaced meanwhile by a file that now has the temporary
		 * name. */
	} else if (renameat2(s->folder, part->name, at->parent, at->name, RENAME_NOREPLACE) == 0) {
		/* The received file was removed or renamed meanwhile. */
		return 0;
	}
	return sync_keep_beside(s, part->name, at, err);
}

int sync_replace(struct folder_sync *s, struct sync_part *part, const struct sync_place *at,
                 const struct stat *before, struct error *err)
{
	const char *name = arena_format(&s->arena, "%s-%.200s", part->name, at->name);

	/* If the process is killed after this, the next run keeps the file beside its place. */
	if (renameat(s->folder, part->name, s->folder, name) < 0)
		return FAIL_ERRNO(err, "put '%s' in its place", at->path);
	part->name = name;
	if (renameat2(s->folder, name, at->parent, at->name, RENAME_EXCHANGE) < 0) {
		/* The filesystem does not support exchanging. */
		if (errno == EINVAL && renameat(s->folder, name, at->parent, at->name) == 0)
			return 1;
		return FAIL_ERRNO(err, "put '%s' in its place", at->path);
	}
	fault_point("cli", "sync-exchanged");
	if (!fd_file_is_still(s->folder, name, before))
		return sync_put_back(s, part, at, err);
	(void)unlinkat(s->folder, name, 0);
	return 1;
}
