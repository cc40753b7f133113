/* SPDX-License-Identifier: Apache-2.0 */
#include "api/artifacts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/stream.h"
#include "base/path.h"
#include "json/json.h"

#define DEPTH 16
/* The kernel stamps files with a clock that may be so much behind ours. */
#define CLOCK_LAG_MS 10

static const struct {
	const char *extension, *media_type;
} types[] = {
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
        {"mp3", "audio/mpeg"},
        {"wav", "audio/wav"},
        {"mp4", "video/mp4"},
        {"webm", "video/webm"},
};

const char *artifact_media_type(const char *path)
{
	const char *name = path_last(path), *dot = strrchr(name, '.');

	for (size_t i = 0; dot && dot != name && i < COUNT_OF(types); i++)
		if (strcasecmp(dot + 1, types[i].extension) == 0)
			return types[i].media_type;
	return "application/octet-stream";
}

static char *copy(const char *text)
{
	char *copied = strdup(text);

	if (!copied)
		abort();
	return copied;
}

void artifacts_init(struct artifacts *a, const char *root, const char *user)
{
	*a = (struct artifacts){.root = copy(root), .user = copy(user ? user : "")};
}

void artifacts_done(struct artifacts *a)
{
	free(a->root);
	free(a->user);
	*a = (struct artifacts){.root = NULL};
}

int artifacts_ask(struct artifacts *a, struct relay *relay, uint64_t started_unix_ms,
                  struct error *err)
{
	const struct agent_path message = {
	        .root = a->root,
	        .path = ".",
	        .target = "",
	        .user = a->user,
	        .flags = AGENT_PATH_BENEATH,
	        .depth = DEPTH,
	        .offset = started_unix_ms - CLOCK_LAG_MS,
	        .size_max = ARTIFACTS_MAX,
	};

	a->asked = true;
	return stream_send(relay, AGENT_LIST, agent_path_shape, &message, err);
}

void artifacts_write(struct artifacts *a, const struct agent_file *file, struct buf *out)
{
	if (a->count == ARTIFACTS_MAX)
		return;
	buf_add_text(out, a->count++ ? ",{\"path\":" : "{\"path\":");
	json_write_text(out, span_of(file->path));
	buf_addf(out, ",\"size\":%" PRIu64 ",\"media_type\":\"%s\"}", file->size,
	         artifact_media_type(file->path));
}
