/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on what takes room: measures folders and empties the trash. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "task/kinds.h"
#include "task/measure.h"
#include "task/remove.h"
#include "wire/task.h"

#define TRASH "trash"
#define KEPT "kept"
#define MEASURE_MS 2000
#define PATH_SIZE 400

int task_measure(char **words, struct task_report *report, struct error *err)
{
	struct task_result more;
	struct error none = {0};
	int64_t deadline;

	if (span_parse_whole(span_of(words[0]), 0, INT64_MAX, &deadline, err) < 0 ||
	    measure_tree(AT_FDCWD, words[1], deadline, &report->result, err) < 0)
		return -1;
	fault_point("task", "measured");
	if (words[2] && measure_tree(AT_FDCWD, words[2], deadline, &more, &none) == 0) {
		report->result.bytes += more.bytes;
		report->result.is_partial |= more.is_partial;
	}
	return 0;
}

/* What an entry KIND.ID.UNTIL.REASON takes: a snapshot stays in its place (broker/layers/trash.h).
 */
static bool path_of_entry(const char *name, char out[PATH_SIZE])
{
	struct span rest = span_of(name), kind, id;
	char text[ID_SIZE + 1] = "";

	if (!span_split(&rest, '.', &kind) || !span_split(&rest, '.', &id) || id.size != ID_SIZE)
		return false;
	memcpy(text, id.data, ID_SIZE);
	if (!id_is_valid(text))
		return false;
	if (span_equals_text(kind, "snapshot"))
		(void)snprintf(out, PATH_SIZE, "snapshots/%s", text);
	else
		(void)snprintf(out, PATH_SIZE, TRASH "/" KEPT "/%s", name);
	return true;
}

/* The size is the text of a link in the entry. */
static void measure_entry(int kept, const char *name, int64_t deadline)
{
	char path[PATH_SIZE], link[PATH_SIZE], text[32];
	struct task_result measured;
	struct error ignored = {0};

	(void)snprintf(link, sizeof(link), "%s/bytes", name);
	if (faccessat(kept, link, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || !path_of_entry(name, path) ||
	    measure_tree(AT_FDCWD, path, deadline, &measured, &ignored) < 0)
		return;
	(void)snprintf(text, sizeof(text), "%" PRIu64, measured.bytes);
	(void)!symlinkat(text, kept, link);
}

static void measure_kept(void)
{
	int64_t deadline = deadline_after(MEASURE_MS);
	AUTO(folder_list_done) DIR *folder = folder_list_at(AT_FDCWD, TRASH "/" KEPT);
	struct dirent *entry;

	while (folder && clock_monotonic_ms() < deadline && (entry = readdir(folder)))
		measure_entry(dirfd(folder), entry->d_name, deadline);
}

int task_trash(UNUSED char **words, UNUSED struct task_report *report, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list_at(AT_FDCWD, TRASH);
	int status;

	if (!folder)
		return FAIL_ERRNO(err, "open the trash");
	fault_point("task", "trash-begun");
	status = remove_entries(folder, KEPT, err);
	fault_point("task", "trash-empty");
	measure_kept();
	return status;
}
