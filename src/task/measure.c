/* SPDX-License-Identifier: Apache-2.0 */
#include "task/measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/task.h"

#define ENTRIES_MAX 1000000u
#define DEPTH_MAX 500u
#define CLOCK_EVERY 1024u
#define BLOCK 512

struct tree_count {
	int64_t deadline;
	uint64_t bytes;
	unsigned entries;
	bool is_partial, is_over;
};

static void count_folder(int parent, const char *name, unsigned depth, struct tree_count *count);

static void stop_count(struct tree_count *count)
{
	count->is_partial = count->is_over = true;
}

/* Each name of a file counts for its part of the file. */
static uint64_t bytes_of_name(const struct stat *status)
{
	uint64_t bytes = (uint64_t)status->st_blocks * BLOCK;

	return S_ISDIR(status->st_mode) || status->st_nlink < 2
	               ? bytes
	               : bytes / (uint64_t)status->st_nlink;
}

static void count_entry(int folder, const char *name, unsigned depth, struct tree_count *count)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		count->is_partial |= errno != ENOENT;
		return;
	}
	count->bytes += bytes_of_name(&status);
	if (++count->entries >= ENTRIES_MAX ||
	    (count->entries % CLOCK_EVERY == 0 && clock_monotonic_ms() >= count->deadline)) {
		stop_count(count);
		return;
	}
	if (S_ISDIR(status.st_mode))
		count_folder(folder, name, depth + 1, count);
}

static void count_folder(int parent, const char *name, unsigned depth, struct tree_count *count)
{
	bool is_too_deep = depth > DEPTH_MAX;
	AUTO(folder_list_done) DIR *folder = is_too_deep ? NULL : folder_list_at(parent, name);
	struct dirent *entry;

	if (!folder) {
		count->is_partial |=
		        is_too_deep || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP);
		return;
	}
	while (!count->is_over && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count_entry(dirfd(folder), entry->d_name, depth, count);
}

int measure_tree(int folder, const char *name, int64_t deadline, struct task_result *ret,
                 struct error *err)
{
	struct tree_count count = {.deadline = deadline};
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", name);
	count_entry(folder, name, 0, &count);
	*ret = (struct task_result){
	        .bytes = count.bytes, .entries = count.entries, .is_partial = count.is_partial};
	return 0;
}
