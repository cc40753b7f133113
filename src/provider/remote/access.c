/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"
#include "provider/remote/parts.h"

#define ACCESS_MAX 4096

struct remote_access {
	const char *remote_id, *base, *access, *traffic;
};

static const struct json_member access_shape_members[] = {
        JSON_TEXT_MEMBER(remote_access, remote_id, .max = REMOTE_ID_MAX),
        JSON_TEXT_MEMBER(remote_access, base, .max = REMOTE_URL_MAX - 1),
        JSON_TEXT_MEMBER(remote_access, access, .flags = JSON_SECRET, .max = REMOTE_SECRET_MAX - 1),
        JSON_TEXT_MEMBER(remote_access, traffic, .flags = JSON_SECRET,
                         .max = REMOTE_SECRET_MAX - 1),
};
static JSON_OPEN_SHAPE(access_shape, "Access", remote_access, "How a remote sandbox is reached");

static void access_path(const struct remote *r, const char *id, char out[PATH_SIZE_MAX])
{
	(void)snprintf(out, PATH_SIZE_MAX, "%s/%s", r->access_dir, id);
}

int remote_access_write(struct remote *r, const struct remote_sandbox *s, struct error *err)
{
	const struct remote_access access = {s->remote_id, s->base, s->access, s->traffic};
	AUTO(buf_done) struct buf text = BUF(ACCESS_MAX);
	char path[PATH_SIZE_MAX];

	access_path(r, s->id, path);
	json_write(&text, &access_shape, &access);
	buf_add_byte(&text, '\n');
	return file_write(AT_FDCWD, path, buf_span(&text), 0600, err);
}

static void copy_text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from ? from : "");
}

void remote_access_read(struct remote *r, struct remote_sandbox *s)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(ACCESS_MAX);
	char path[PATH_SIZE_MAX];
	struct error ignored = {0};
	struct remote_access access;

	access_path(r, s->id, path);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0 ||
	    json_parse(&arena, buf_span(&text), &access_shape, &access, &ignored) < 0 ||
	    !access.remote_id || strcmp(access.remote_id, s->remote_id) != 0)
		return;
	copy_text(s->base, sizeof(s->base), access.base);
	copy_text(s->access, sizeof(s->access), access.access);
	copy_text(s->traffic, sizeof(s->traffic), access.traffic);
	s->has_access = true;
}

void remote_access_remove(struct remote *r, const char *id)
{
	char path[PATH_SIZE_MAX];

	access_path(r, id, path);
	(void)unlink(path);
}
