/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped container is replaced by one with other files or mounts. The new one is made under a
 * second name, the old one is removed, and the new one gets its name. The list finishes what a
 * server that was killed has begun. */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "json/json.h"
#include "wire/agent_reverse.h"

#define NEXT "-next"
#define PATH_MAX_SIZE 320

static const int missing_is_fine[] = {404, 0};

void docker_fill(struct provider *p, const struct docker_container *wanted,
                 struct docker_filled *ret)
{
	const struct docker_provider *d = as_docker(p);

	ret->spec = *wanted->spec;
	ret->spec.resources.pids = docker_kernel_pids(p, ret->spec.resources.pids);
	id_random_text(ret->token, sizeof(ret->token));
	(void)snprintf(ret->folder, sizeof(ret->folder), "%.4000s/%s", d->links_dir, ret->spec.id);
	ret->container = *wanted;
	ret->container.spec = &ret->spec;
	ret->container.server = d->server;
	ret->container.program = d->options.docker->program;
	ret->container.runtime = d->options.docker->runtime;
	ret->container.folder = ret->folder;
	ret->container.token = ret->token;
}

static int post_create(struct provider *p, const char *name, const struct docker_container *c,
                       int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(64 * 1024);
	char path[PATH_MAX_SIZE];

	docker_write_container(&body, c);
	if (body.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the description of a container is too large");
	(void)snprintf(path, sizeof(path), "/containers/create?name=%s", name);
	const struct docker_call call = {
	        .method = "POST", .path = path, .body = buf_span(&body), .deadline = deadline};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

int docker_post_container(struct provider *p, const struct docker_container *c, int64_t deadline,
                          struct error *err)
{
	char name[DOCKER_NAME_SIZE];

	docker_container_name(c->server, c->spec->id, name);
	return post_create(p, name, c, deadline, err);
}

static int remove_named(struct provider *p, const char *name, int64_t deadline, struct error *err)
{
	char path[PATH_MAX_SIZE];
	const struct docker_call call = {.method = "DELETE",
	                                 .path = path,
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};

	(void)snprintf(path, sizeof(path), "/containers/%s?force=1", name);
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

static int rename_next(struct provider *p, const char *name, int64_t deadline, struct error *err)
{
	char path[PATH_MAX_SIZE];
	const struct docker_call call = {.method = "POST", .path = path, .deadline = deadline};

	(void)snprintf(path, sizeof(path), "/containers/%s" NEXT "/rename?name=%s", name, name);
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

int docker_replace(struct provider *p, const struct docker_container *wanted, int64_t deadline,
                   struct error *err)
{
	char name[DOCKER_NAME_SIZE], next[DOCKER_NAME_SIZE + sizeof(NEXT)];
	AUTO(buf_done) struct buf image = BUF(256);
	struct docker_filled filled;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED =
	        thread_lock(&as_docker(p)->replace_mutex);

	docker_fill(p, wanted, &filled);
	if (!wanted->image) {
		if (docker_keep_files(p, filled.spec.id, deadline, &image, err) < 0)
			return -1;
		filled.container.image = buf_text(&image);
	}
	docker_container_name(as_docker(p)->server, filled.spec.id, name);
	(void)snprintf(next, sizeof(next), "%s" NEXT, name);
	if (remove_named(p, next, deadline, err) < 0 ||
	    post_create(p, next, &filled.container, deadline, err) < 0 ||
	    remove_named(p, name, deadline, err) < 0)
		return -1;
	return rename_next(p, name, deadline, err);
}

/* The name without its end; false: it is no second name. */
static bool cut_next(const char *name, char out[DOCKER_NAME_SIZE])
{
	size_t size, end = strlen(NEXT);

	name += *name == '/';
	size = strlen(name);
	if (size <= end || size - end >= DOCKER_NAME_SIZE || strcmp(name + size - end, NEXT) != 0)
		return false;
	memcpy(out, name, size - end);
	out[size - end] = '\0';
	return true;
}

static bool has_name(const struct json_value *list, const char *wanted)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *names = json_get(json_item_at(list, i), "Names");
		const char *name = json_text(json_item_at(names, 0), "");

		if (strcmp(name + (*name == '/'), wanted) == 0)
			return true;
	}
	return false;
}

/* One that still has its old container was not finished: the old one stays. */
static int finish_replacement(struct provider *p, const struct json_value *list, const char *name,
                              int64_t deadline, struct error *err)
{
	char next[DOCKER_NAME_SIZE + sizeof(NEXT)];

	if (!has_name(list, name))
		return rename_next(p, name, deadline, err);
	(void)snprintf(next, sizeof(next), "%s" NEXT, name);
	return remove_named(p, next, deadline, err);
}

int docker_finish_replacements(struct provider *p, struct span list_body, int64_t deadline,
                               bool *ret_changed, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *list;

	*ret_changed = false;
	if (docker_load_answer(&arena, list_body, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *names = json_get(json_item_at(list, i), "Names");
		char name[DOCKER_NAME_SIZE];

		if (!cut_next(json_text(json_item_at(names, 0), ""), name))
			continue;
		if (finish_replacement(p, list, name, deadline, err) < 0)
			return FAIL_CONTEXT(err, "finish the replacement of '%s'", name);
		*ret_changed = true;
	}
	return 0;
}
