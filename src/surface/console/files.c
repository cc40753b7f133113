/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/console/files.h"

#include <stdlib.h>
#include <string.h>

static int compare_path(const void *path, const void *file)
{
	return strcmp(path, ((const struct console_file *)file)->path);
}

const struct console_file *console_find_file(const char *path)
{
	return bsearch(path, console_files, console_file_count, sizeof(console_files[0]),
	               compare_path);
}

/* Whether a weight such as ";q=0.5" is zero. */
static bool weight_is_zero(struct span weight)
{
	struct span name;

	weight = span_trim(weight);
	(void)span_split(&weight, '=', &name);
	weight = span_trim(weight);
	if (!span_is_same_word(span_trim(name), SPAN("q")) || !weight.size || weight.data[0] != '0')
		return false;
	for (size_t i = 1; i < weight.size; i++)
		if (weight.data[i] != '.' && weight.data[i] != '0')
			return false;
	return true;
}

static bool accepts_coding(const char *accepted, const char *coding)
{
	struct span rest = span_of(accepted), item, name;
	bool more = true;

	while (more) {
		more = span_split(&rest, ',', &item);
		(void)span_split(&item, ';', &name);
		if (span_is_same_word(span_trim(name), span_of(coding)))
			return !weight_is_zero(item);
	}
	return false;
}

enum console_coding console_choose_coding(const struct console_file *file, const char *accepted)
{
	if (!accepted)
		return CONSOLE_PLAIN;
	if (file->start[CONSOLE_BROTLI] && accepts_coding(accepted, "br"))
		return CONSOLE_BROTLI;
	if (file->start[CONSOLE_GZIP] && accepts_coding(accepted, "gzip"))
		return CONSOLE_GZIP;
	return CONSOLE_PLAIN;
}
