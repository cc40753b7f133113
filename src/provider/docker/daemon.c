/* SPDX-License-Identifier: Apache-2.0 */
/* DATA/docker/daemon: which daemon has the containers of this server. Another daemon, or an empty
 * one, would make the server take every sandbox for lost. */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/json.h"

#define IDENTITY_MAX 1024

/* Before version 23 all daemons of a machine have the same id, so the data root is part of it. */
static int ask_identity(struct provider *p, int64_t deadline, char out[IDENTITY_MAX],
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_call call = {.method = "GET", .path = "/info", .deadline = deadline};
	const struct docker_dialect *dialect;
	const struct json_value *root;

	if (docker_engine_dialect(as_docker(p)->engine, deadline, &dialect, err) < 0 ||
	    docker_engine_load(as_docker(p)->engine, &call, &arena, &root, err) < 0)
		return -1;
	const char *id = dialect->has_id ? json_get_text(root, "ID", "") : dialect->name;
	const char *data = json_get_text(root, "DockerRootDir", "");
	if (!*id || !*data)
		return FAIL(err, ERROR_UNAVAILABLE, "docker does not tell its id");
	(void)snprintf(out, IDENTITY_MAX, "%.200s at %.700s", id, data);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return 0;
}

int docker_check_daemon(struct provider *p, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf known = BUF(IDENTITY_MAX);
	char path[PATH_SIZE_MAX], now[IDENTITY_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/daemon", as_docker(p)->dir);
	if (ask_identity(p, deadline, now, err) < 0)
		return -1;
	if (file_read(AT_FDCWD, path, &known, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return file_write(AT_FDCWD, path, span_of(now), 0600, err);
	}
	if (strcmp(buf_text(&known), now) == 0)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE, "docker is another daemon: '%.90s' in place of '%.90s'",
	           now, buf_text(&known));
	return FAIL_HINT(err,
	                 "start the daemon that has the sandboxes; or remove '%s' to go on "
	                 "without them",
	                 path);
}
