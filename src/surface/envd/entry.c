/* SPDX-License-Identifier: Apache-2.0 */
/* Files as envd's EntryInfo. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "json/write.h"
#include "surface/envd/envd.h"
#include "surface/envd/files.h"
#include "wire/agent_files.h"

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
	        [AGENT_FILE_OTHER] = "FILE_TYPE_UNSPECIFIED",
	        [AGENT_FILE_REGULAR] = "FILE_TYPE_FILE",
	        [AGENT_FILE_FOLDER] = "FILE_TYPE_DIRECTORY",
	        [AGENT_FILE_SYMLINK] = "FILE_TYPE_SYMLINK",
	};

	return names[type < COUNT_OF(names) ? type : AGENT_FILE_OTHER];
}

/* "-rw-r--r--", "drwxr-xr-x", "Lrwxrwxrwx", "ugtrwx…": letters for special bits come first. */
static void format_permissions(const struct agent_entry *entry, char ret[16])
{
	static const char letters[] = "rwxrwxrwx";
	static const struct {
		uint32_t bit;
		char letter;
	} special[] = {{04000, 'u'}, {02000, 'g'}, {01000, 't'}};
	char *at = ret;

	if (entry->type == AGENT_FILE_FOLDER)
		*at++ = 'd';
	if (entry->type == AGENT_FILE_SYMLINK)
		*at++ = 'L';
	if (entry->type == AGENT_FILE_OTHER)
		*at++ = '?';
	for (size_t i = 0; i < COUNT_OF(special); i++)
		if (entry->mode & special[i].bit)
			*at++ = special[i].letter;
	if (at == ret)
		*at++ = '-';
	for (unsigned i = 0; i < 9; i++)
		*at++ = entry->mode & (0400U >> i) ? letters[i] : '-';
	*at = '\0';
}

/* RFC 3339 with nanoseconds. Times outside the years 1970 to 9999 are clamped. */
static void format_time(const struct agent_entry *entry, char *ret, size_t size)
{
	static const int64_t last = INT64_C(253402300799);
	time_t seconds = (time_t)(entry->modified_s < 0      ? 0
	                          : entry->modified_s > last ? last
	                                                     : entry->modified_s);
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(ret, size, "%s.%09uZ", text, entry->modified_ns % 1000000000U);
}

void envd_write_upload(struct buf *out, const char *path, const char *attributes)
{
	json_begin_object(out, NULL);
	json_add_text(out, "path", path);
	json_add_text(out, "name", path_last(path));
	json_add_text(out, "type", "file");
	if (attributes)
		envd_metadata_write(out, "metadata", attributes);
	json_end_object(out);
}

void envd_write_entry(struct buf *out, const struct agent_entry *entry)
{
	bool is_link = entry->type == AGENT_FILE_SYMLINK;
	uint32_t mode = is_link ? entry->link_mode : entry->mode;
	char size[24], permissions[16], modified[64];

	(void)snprintf(size, sizeof(size), "%" PRIu64, entry->size);
	format_permissions(entry, permissions);
	format_time(entry, modified, sizeof(modified));
	json_begin_object(out, NULL);
	json_add_text(out, "name", path_last(entry->path));
	json_add_text(out, "type", type_name(is_link ? entry->link_type : entry->type));
	json_add_text(out, "path", entry->path);
	json_add_text(out, "size", size);
	json_add_whole(out, "mode", mode & 0777);
	json_add_text(out, "permissions", permissions);
	json_add_text(out, "owner", entry->owner);
	json_add_text(out, "group", entry->group);
	json_add_text(out, "modifiedTime", modified);
	if (is_link)
		json_add_text(out, "symlinkTarget", entry->link[0] ? entry->link : entry->path);
	if (entry->attributes[0])
		envd_write_pairs(out, "metadata", entry->attributes);
	json_end_object(out);
}
