/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/media.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/path.h"

static const struct {
	const char *extension, *media_type;
} names[] = {
        {"txt", "text/plain"},
        {"log", "text/plain"},
        {"md", "text/markdown"},
        {"csv", "text/csv"},
        {"tsv", "text/tab-separated-values"},
        {"html", "text/html"},
        {"htm", "text/html"},
        {"css", "text/css"},
        {"js", "text/javascript"},
        {"py", "text/x-python"},
        {"c", "text/x-c"},
        {"json", "application/json"},
        {"ipynb", "application/x-ipynb+json"},
        {"xml", "application/xml"},
        {"yaml", "application/yaml"},
        {"yml", "application/yaml"},
        {"pdf", "application/pdf"},
        {"zip", "application/zip"},
        {"gz", "application/gzip"},
        {"tgz", "application/gzip"},
        {"tar", "application/x-tar"},
        {"parquet", "application/vnd.apache.parquet"},
        {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
        {"png", "image/png"},
        {"jpg", "image/jpeg"},
        {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},
        {"webp", "image/webp"},
        {"svg", "image/svg+xml"},
        {"bmp", "image/bmp"},
        {"mp3", "audio/mpeg"},
        {"wav", "audio/wav"},
        {"mp4", "video/mp4"},
        {"webm", "video/webm"},
};

const char *media_type_of_name(const char *path)
{
	const char *name = path_last(path), *dot = strrchr(name, '.');

	for (size_t i = 0; dot && dot != name && i < COUNT_OF(names); i++)
		if (strcasecmp(dot + 1, names[i].extension) == 0)
			return names[i].media_type;
	return MEDIA_BYTES;
}

/* Signatures of files, at offset `at`. */
static const struct {
	char media_type[32], bytes[9];
	size_t at, size;
} signatures[] = {
        {"image/png", "\x89PNG\r\n\x1a\n", 0, 8},
        {"image/jpeg", "\xff\xd8\xff", 0, 3},
        {"image/gif", "GIF8", 0, 4},
        {"image/webp", "WEBP", 8, 4},
        {"application/pdf", "%PDF-", 0, 5},
        {"application/gzip", "\x1f\x8b\x08", 0, 3},
        {"application/zip", "PK\x03\x04", 0, 4},
        {"audio/wav", "WAVE", 8, 4},
        {"video/webm", "\x1a\x45\xdf\xa3", 0, 4},
        {"application/vnd.apache.parquet", "PAR1", 0, 4},
};

static const char *signature_of(struct span head)
{
	for (size_t i = 0; i < COUNT_OF(signatures); i++)
		if (head.size >= signatures[i].at + signatures[i].size &&
		    memcmp(head.data + signatures[i].at, signatures[i].bytes, signatures[i].size) ==
		            0)
			return signatures[i].media_type;
	return NULL;
}

static bool has_signature(const char *media_type)
{
	for (size_t i = 0; i < COUNT_OF(signatures); i++)
		if (strcmp(signatures[i].media_type, media_type) == 0)
			return true;
	return false;
}

/* Office documents are zip archives. */
static bool is_zip(const char *media_type)
{
	return strncmp(media_type, "application/vnd.openxmlformats", 30) == 0;
}

static bool is_text(struct span head)
{
	bool is_cut = head.size == MEDIA_HEAD_SIZE;

	/* The head may end within a character. */
	for (unsigned cut = 0; is_cut && cut < 3 && !span_is_utf8(head); cut++)
		head.size--;
	return head.data && !memchr(head.data, '\0', head.size) && span_is_utf8(head);
}

const char *media_type_of(const char *path, struct span head)
{
	const char *named = media_type_of_name(path), *found = signature_of(head);

	if (found)
		return is_zip(named) && strcmp(found, "application/zip") == 0 ? named : found;
	if (head.size == 0 ||
	    (!has_signature(named) && !is_zip(named) && strcmp(named, MEDIA_BYTES) != 0))
		return named;
	return is_text(head) ? "text/plain" : MEDIA_BYTES;
}
