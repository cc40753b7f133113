/* SPDX-License-Identifier: Apache-2.0 */
/* A pull answers 200 and then tells in JSON lines how it goes; only the last line may be a failure.
 */
#include <stdio.h>
#include <string.h>

#include "http/client/client.h"
#include "json/json.h"
#include "provider/docker/engine.h"

#define MESSAGE_MAX 300
#define LINE_MAX_BYTES (64 * 1024)
#define LOGIN_HEADER_MAX 8192

struct pull_progress {
	struct buf line;
	char message[MESSAGE_MAX]; /* of the failure */
};

static void end_line(struct pull_progress *p)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};

	if (!p->line.overflowed && p->line.size > 0 &&
	    json_load(&arena, buf_span(&p->line), &root, &ignored) == 0) {
		const char *failure = json_get_text(root, "error", NULL);

		if (failure)
			(void)snprintf(p->message, sizeof(p->message), "%s", failure);
	}
	buf_done(&p->line);
	p->line = BUF(LINE_MAX_BYTES);
}

static bool on_pull_bytes(void *context, struct span piece)
{
	struct pull_progress *p = context;

	for (size_t i = 0; i < piece.size; i++)
		if (piece.data[i] == '\n')
			end_line(p);
		else
			buf_add_byte(&p->line, piece.data[i]);
	return true;
}

static int write_path(const char *image, struct buf *path, struct error *err)
{
	buf_add_text(path, "/images/create?fromImage=");
	http_escape(path, image);
	/* Without a tag the daemon would pull every tag. */
	if (!strchr(image, '@') && !strchr(strrchr(image, '/') ? strrchr(image, '/') : image, ':'))
		buf_add_text(path, "&tag=latest");
	if (path->overflowed)
		return FAIL(err, ERROR_INVALID, "the name of an image is too long");
	return 0;
}

int docker_engine_pull(struct docker_engine *e, const struct docker_pull *pull, struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(1024), login = BUF(LOGIN_HEADER_MAX);
	struct pull_progress progress = {.line = BUF(LINE_MAX_BYTES)};
	const char *headers[] = {NULL, NULL};
	int status;

	if (write_path(pull->image, &path, err) < 0)
		return -1;
	if (pull->login) {
		buf_addf(&login, "X-Registry-Auth: %s", pull->login);
		headers[0] = buf_text(&login);
	}
	const struct docker_call call = {.method = "POST",
	                                 .path = buf_text(&path),
	                                 .deadline = pull->deadline,
	                                 .headers = headers,
	                                 .on_body = on_pull_bytes,
	                                 .context = &progress};
	status = docker_engine_do(e, &call, NULL, err);
	end_line(&progress);
	buf_done(&progress.line);
	if (status < 0)
		return FAIL_CONTEXT(err, "image '%s'", pull->image);
	if (*progress.message)
		return FAIL(err, ERROR_UNAVAILABLE, "image '%s': docker: %s", pull->image,
		            progress.message);
	return 0;
}
