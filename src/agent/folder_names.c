/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/folder_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SIZE_MAX (64 * 1024 * 1024) /* of one folder */

void folder_names_done(struct folder_names *n)
{
	buf_done(&n->text);
	free(n->list);
	n->list = NULL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct folder_names *n)
{
	const char *at = n->text.data;

	n->list = memory_array(n->count + 1, sizeof(*n->list));
	for (size_t i = 0; i < n->count; i++) {
		n->list[i] = at;
		at += strlen(at) + 1;
	}
	qsort(n->list, n->count, sizeof(*n->list), compare_names);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int folder_names_read(struct folder_names *ret, int folder, struct error *err)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(close_dir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	AUTO(folder_names_done) struct folder_names n = {.text = BUF(NAMES_SIZE_MAX)};
	struct dirent *item;

	if (!dir)
		return FAIL_ERRNO(err, "read a folder");
	while ((item = readdir(dir))) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		buf_add(&n.text, item->d_name, strlen(item->d_name) + 1);
		n.count++;
	}
	if (n.text.overflowed)
		return FAIL(err, ERROR_LIMIT, "a folder has too many entries");
	sort_names(&n);
	*ret = n;
	n = (struct folder_names){0};
	return 0;
}
