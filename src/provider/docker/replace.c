/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped container is replaced by one with other files or mounts: the new one is made as
 * NAME-next, the old one is renamed to NAME-old, the new one gets its name, and the old one is
 * removed. The list finishes what a server that was killed has begun.
 *
 * The daemon may still execute the last call of a killed server while the next one reads the list,
 * so no container is removed because of what another call may be about to change: NAME-old goes
 * only when NAME is there, and NAME-next only when NAME is there and was never renamed. */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"
#include "json/json.h"
#include "wire/agent_reverse.h"

#define NEXT "-next"
#define OLD "-old"
#define PATH_MAX_SIZE 320

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
	ret->container.program = docker_options_of(d)->program;
	ret->container.runtime = docker_options_of(d)->runtime;
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

static const int removed_is_fine[] = {404, 409, 0}; /* 409: another removal is on its way */

static int remove_named(struct provider *p, const char *name, const char *end, int64_t deadline,
                        struct error *err)
{
	char path[PATH_MAX_SIZE];
	const struct docker_call call = {.method = "DELETE",
	                                 .path = path,
	                                 .deadline = deadline,
	                                 .accepted = removed_is_fine};

	(void)snprintf(path, sizeof(path), "/containers/%s%s?force=1", name, end);
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

struct renaming {
	const char *name, *from, *to; /* ends of the name */
};

static int rename_container(struct provider *p, const struct renaming *r, int64_t deadline,
                            struct error *err)
{
	char path[PATH_MAX_SIZE];
	const struct docker_call call = {.method = "POST", .path = path, .deadline = deadline};

	(void)snprintf(path, sizeof(path), "/containers/%s%s/rename?name=%s%s", r->name, r->from,
	               r->name, r->to);
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

/* From NAME and NAME-next to NAME. */
static int exchange_containers(struct provider *p, const char *name, int64_t deadline,
                               struct error *err)
{
	const struct renaming away = {name, "", OLD}, in = {name, NEXT, ""};

	if (remove_named(p, name, OLD, deadline, err) < 0 ||
	    rename_container(p, &away, deadline, err) < 0)
		return -1;
	fault_point("api", "docker-replace-away");
	if (rename_container(p, &in, deadline, err) < 0)
		return -1;
	fault_point("api", "docker-replace-in");
	return remove_named(p, name, OLD, deadline, err);
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
	if (remove_named(p, name, NEXT, deadline, err) < 0 ||
	    post_create(p, next, &filled.container, deadline, err) < 0)
		return -1;
	fault_point("api", "docker-replace-made");
	return exchange_containers(p, name, deadline, err);
}

/* The name without its end; false: it has another one. */
static bool cut_end(const char *name, const char *end, char out[DOCKER_NAME_SIZE])
{
	size_t size, end_size = strlen(end);

	name += *name == '/';
	size = strlen(name);
	if (size <= end_size || size - end_size >= DOCKER_NAME_SIZE ||
	    strcmp(name + size - end_size, end) != 0)
		return false;
	memcpy(out, name, size - end_size);
	out[size - end_size] = '\0';
	return true;
}

static bool has_name(const struct json_value *list, const char *wanted, const char *end)
{
	char base[DOCKER_NAME_SIZE];

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *names = json_get(json_item_at(list, i), "Names");
		const char *name = json_text(json_item_at(names, 0), "");

		if (cut_end(name, end, base) && strcmp(base, wanted) == 0)
			return true;
	}
	return false;
}

/* With NAME-old the exchange had begun: it goes on. Without it the old container stays. */
static int finish_replacement(struct provider *p, const struct json_value *list, const char *name,
                              int64_t deadline, struct error *err)
{
	const struct renaming in = {name, NEXT, ""}, back = {name, OLD, ""};
	bool has_next = has_name(list, name, NEXT);

	if (!has_name(list, name, "") &&
	    rename_container(p, has_next ? &in : &back, deadline, err) < 0) {
		/* The call of the killed server was faster. */
		if (err->code != ERROR_NOT_FOUND && err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
		return 0;
	}
	if (has_name(list, name, ""))
		return remove_named(p, name, has_name(list, name, OLD) ? OLD : NEXT, deadline, err);
	return 0;
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
		const char *full = json_text(json_item_at(names, 0), "");
		char name[DOCKER_NAME_SIZE];

		if (!cut_end(full, NEXT, name) && !cut_end(full, OLD, name))
			continue;
		if (finish_replacement(p, list, name, deadline, err) < 0)
			return FAIL_CONTEXT(err, "finish the replacement of '%s'", name);
		*ret_changed = true;
	}
	return 0;
}
