/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on layers: merges several into one, or copies the one that a held sandbox writes to. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "isolation/ids.h"
#include "task/copy.h"
#include "task/kinds.h"
#include "task/merge.h"
#include "wire/task.h"

#define ENTRIES_MAX 2000000
#define DEPTH_MAX 500
#define SECONDS_MAX 600 /* of processor time for a merge, then the process ends */
#define PATH_SIZE 64

static int open_folder(const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", path) : 0;
}

static int open_upper(const char *id, int *ret_fd, struct error *err)
{
	char path[PATH_SIZE];

	if (!id_is_valid(id))
		return FAIL(err, ERROR_INVALID, "'%.40s' is no id of a layer", id);
	(void)snprintf(path, sizeof(path), "snapshots/%s/upper", id);
	return open_folder(path, ret_fd, err);
}

/* Its "/" has the owner and mode that it has in the topmost layer, which a sandbox may have
 * changed. */
static int make_layer(const char *id, int like, int *ret_fd, struct error *err)
{
	static const char *const parts[] = {"", "/upper", "/work"};
	struct stat status;
	char path[PATH_SIZE];

	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		(void)snprintf(path, sizeof(path), "snapshots/%.40s%s", id, parts[i]);
		if (mkdirat(AT_FDCWD, path, 0755) < 0 ||
		    fchownat(AT_FDCWD, path, ID_STORED, ID_STORED, AT_SYMLINK_NOFOLLOW) < 0)
			return FAIL_ERRNO(err, "make the folder '%s'", path);
	}
	if (open_upper(id, ret_fd, err) < 0)
		return -1;
	if (fstat(like, &status) < 0 || fchown(*ret_fd, status.st_uid, status.st_gid) < 0 ||
	    fchmod(*ret_fd, status.st_mode & 07777) < 0)
		return FAIL_ERRNO(err, "set the owner of layer '%s'", id);
	return 0;
}

/* The process ends soon, which closes the descriptors. */
int task_merge(char **words, UNUSED struct task_report *report, struct error *err)
{
	static const struct merge_limits limits = {ENTRIES_MAX, DEPTH_MAX};
	const struct rlimit seconds = {SECONDS_MAX, SECONDS_MAX};
	int layers[TASK_LAYERS_MAX], to;
	unsigned count = 0;

	(void)setrlimit(RLIMIT_CPU, &seconds);
	for (char **id = words + 1; *id; id++, count++) {
		if (count == TASK_LAYERS_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d layers", TASK_LAYERS_MAX);
		if (open_upper(*id, &layers[count], err) < 0)
			return -1;
	}
	if (count == 0)
		return FAIL(err, ERROR_INVALID, "no layers to merge");
	if (make_layer(words[0], layers[0], &to, err) < 0)
		return -1;
	fault_point("task", "flatten-folder");
	if (merge_layers(layers, count, to, &limits, err) < 0)
		return -1;
	fault_point("task", "flatten-merged");
	return syncfs(to) < 0 ? FAIL_ERRNO(err, "bring a layer to the disk") : 0;
}

int task_copy(char **words, UNUSED struct task_report *report, struct error *err)
{
	AUTO_CLOSE int from = -1, to = -1;
	int64_t time_ms;

	if (span_parse_whole(span_of(words[2]), 0, INT64_MAX, &time_ms, err) < 0 ||
	    open_folder(words[0], &from, err) < 0 || open_folder(words[1], &to, err) < 0 ||
	    task_wait(err) < 0)
		return -1;
	fault_point("task", "copy-begun");
	if (copy_layer(from, to, deadline_after(time_ms), err) < 0)
		return -1;
	fault_point("task", "copy-done");
	return 0;
}
