/* SPDX-License-Identifier: Apache-2.0 */
/* Files as envd's EntryInfo. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "surface/envd/envd.h"

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
static void write_permissions(struct buf *out, const struct agent_entry *entry)
{
	static const char letters[] = "rwxrwxrwx";
	static const struct {
		uint32_t bit;
		char letter;
	} special[] = {{04000, 'u'}, {02000, 'g'}, {01000, 't'}};
	size_t begun = out->size;

	if (entry->type == AGENT_FILE_FOLDER)
		buf_add_byte(out, 'd');
	if (entry->type == AGENT_FILE_SYMLINK)
		buf_add_byte(out, 'L');
	if (entry->type == AGENT_FILE_OTHER)
		buf_add_byte(out, '?');
	for (size_t i = 0; i < COUNT_OF(special); i++)
		if (entry->mode & special[i].bit)
			buf_add_byte(out, special[i].letter);
	if (out->size == begun)
		buf_add_byte(out, '-');
	for (unsigned i = 0; i < 9; i++)
		buf_add_byte(out, entry->mode & (0400U >> i) ? letters[i] : '-');
}

/* RFC 3339 with nanoseconds. Times outside the years 1970 to 9999 are clamped. */
static void write_time(struct buf *out, const struct agent_entry *entry)
{
	static const int64_t last = INT64_C(253402300799);
	time_t seconds = (time_t)(entry->modified_s < 0      ? 0
	                          : entry->modified_s > last ? last
	                                                     : entry->modified_s);
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	buf_addf(out, "%s.%09uZ", text, entry->modified_ns % 1000000000U);
}

void envd_write_entry(struct buf *out, const struct agent_entry *entry)
{
	bool is_link = entry->type == AGENT_FILE_SYMLINK;
	uint32_t mode = is_link ? entry->link_mode : entry->mode;

	buf_add_text(out, "{\"name\":");
	json_write_text(out, span_of(path_last(entry->path)));
	buf_addf(out,
	         ",\"type\":\"%s\",\"path\":", type_name(is_link ? entry->link_type : entry->type));
	json_write_text(out, span_of(entry->path));
	buf_addf(out, ",\"size\":\"%" PRIu64 "\",\"mode\":%u,\"permissions\":\"", entry->size,
	         mode & 0777);
	write_permissions(out, entry);
	buf_add_text(out, "\",\"owner\":");
	json_write_text(out, span_of(entry->owner));
	buf_add_text(out, ",\"group\":");
	json_write_text(out, span_of(entry->group));
	buf_add_text(out, ",\"modifiedTime\":\"");
	write_time(out, entry);
	buf_add_byte(out, '"');
	if (is_link) {
		buf_add_text(out, ",\"symlinkTarget\":");
		json_write_text(out, span_of(entry->link[0] ? entry->link : entry->path));
	}
	if (entry->attributes[0]) {
		buf_add_text(out, ",\"metadata\":");
		envd_write_pairs(out, entry->attributes);
	}
	buf_add_byte(out, '}');
}
