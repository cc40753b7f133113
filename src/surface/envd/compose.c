/* SPDX-License-Identifier: Apache-2.0 */
/* POST /files/compose: joins several files into one and removes them. The new file is written under
 * a temporary name and then renamed, so that the destination is never incomplete. */
#include <string.h>

#include "edge/target.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define BODY_MAX_BYTES ((size_t)1024 * 1024)
#define SOURCES_MAX 1000

struct compose {
	struct request *rq;
	const struct api_target *target;
	const char *user, *destination, *partial;
	const char **sources; /* as the caller sent them; NULL-terminated */
	size_t count;
};

static int call_for_path(struct compose *c, uint16_t type, const struct agent_path *path,
                         const char **ret_path, struct error *err)
{
	const struct compute_file call = {type, path, c->rq->deadline};
	struct agent_file file = {.path = NULL};

	if (compute_file(c->target->provider, c->target->id, c->rq->arena, &call, &file, err) < 0)
		return -1;
	if (ret_path)
		*ret_path = file.path ? file.path : "";
	return 0;
}

static int append_source(struct compose *c, const char *source, struct error *err)
{
	struct agent_path path = envd_path_of(source, c->user);

	path.target = c->partial;
	path.flags |= AGENT_PATH_APPEND | AGENT_PATH_PARENTS;
	return call_for_path(c, AGENT_COPY, &path, NULL, err);
}

static int remove_file(struct compose *c, const char *name, struct error *err)
{
	struct agent_path path = envd_path_of(name, c->user);

	path.flags |= AGENT_PATH_MAY_EXIST;
	return call_for_path(c, AGENT_REMOVE, &path, NULL, err);
}

/* Keeps a source that is the destination itself. */
static int remove_sources(struct compose *c, const char *made, struct error *err)
{
	for (size_t i = 0; i < c->count; i++) {
		struct agent_path path = envd_path_of(c->sources[i], c->user);
		const char *whole;
		struct error gone;

		path.flags |= AGENT_PATH_NO_FOLLOW;
		if (call_for_path(c, AGENT_STAT, &path, &whole, &gone) < 0 ||
		    strcmp(whole, made) == 0)
			continue;
		if (remove_file(c, c->sources[i], err) < 0)
			return -1;
	}
	return 0;
}

static int join_sources(struct compose *c, const char **ret_made, struct error *err)
{
	struct agent_path rename = envd_path_of(c->partial, c->user);
	struct error ignored;
	size_t i = 0;

	while (i < c->count && append_source(c, c->sources[i], err) == 0)
		i++;
	rename.target = c->destination;
	if (i == c->count && call_for_path(c, AGENT_RENAME, &rename, ret_made, err) == 0)
		return 0;
	(void)!remove_file(c, c->partial, &ignored);
	envd_error_translate(err);
	/* The destination is a folder. */
	if (err->code == ERROR_CONFLICT)
		err->code = ERROR_INVALID;
	return -1;
}

static int read_request(struct compose *c, struct error *err)
{
	const struct json_value *body, *sources;
	struct id id = id_new();

	if (envd_read_json(c->rq, &body, err) < 0 ||
	    envd_user_find(c->rq, c->target, json_text(json_get(body, "username"), NULL), &c->user,
	                   err) < 0)
		return -1;
	sources = json_get(body, "source_paths");
	c->destination = json_text(json_get(body, "destination"), "");
	c->count = json_count(sources);
	if (!c->destination[0] || c->count == 0 || c->count > SOURCES_MAX)
		return FAIL(err, ERROR_INVALID, "destination and 1 to %d source_paths are needed",
		            SOURCES_MAX);
	c->partial = arena_format(c->rq->arena, "%s.%s", c->destination, id.text);
	c->sources = ARENA_ARRAY(c->rq->arena, const char *, c->count);
	for (size_t i = 0; i < c->count; i++) {
		c->sources[i] = json_text(json_item_at(sources, i), "");
		if (!c->sources[i][0])
			return FAIL(err, ERROR_INVALID, "a path of source_paths is empty");
	}
	return provider_require(c->target->provider, PROVIDER_CAN_FILES, err);
}

static int compose_files(struct request *rq, struct reply *reply, struct api_target *t,
                         UNUSED const void *body, struct error *err)
{
	struct compose c = {.rq = rq, .target = t};
	const char *made;
	struct buf *out;

	if (read_request(&c, err) < 0 || join_sources(&c, &made, err) < 0 ||
	    remove_sources(&c, made, err) < 0)
		return -1;
	out = reply_buf(reply, "application/json");
	envd_write_upload(out, made, NULL);
	return 0;
}

static int handle_compose(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){envd_target_open, compose_files}, err);
}

const struct route envd_compose_routes[] = {
        {.method = HTTP_POST,
         .path = "/files/compose",
         .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_SLOW,
         .body_max = BODY_MAX_BYTES,
         .handle = handle_compose,
         .tag = ENVD_TAG,
         .summary = "Join files into one"},
        {.path = NULL},
};
