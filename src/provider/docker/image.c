/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "http/client/client.h"
#include "json/json.h"
#include "provider/templates.h"

#define DEFAULT_FOLDER "host" /* of the template that needs no build */

static const int missing_is_fine[] = {404, 0};

/* Imported images have a name that holds this server's id. */
static void imported_name(struct provider *p, const char *folder, struct buf *out)
{
	buf_addf(out, "atoll-%s:%s", as_docker(p)->server, folder);
}

bool docker_image_is_imported(const char *folder)
{
	return strcmp(folder, DEFAULT_FOLDER) != 0;
}

int docker_image_of(struct provider *p, const char *folder, struct buf *out, struct error *err)
{
	const char *image = as_docker(p)->options.docker->image;

	if (docker_image_is_imported(folder))
		imported_name(p, folder, out);
	else if (*image)
		buf_add_text(out, image);
	else {
		(void)FAIL(err, ERROR_INVALID, "provider 'docker' has no image for this template");
		return FAIL_HINT(err, "set docker_image (or SANDBOX_WORKER_IMAGE), or create from "
		                      "an image");
	}
	return 0;
}

/* The size of an image in bytes; -1: there is no such image. */
static int find_image(struct provider *p, const char *image, int64_t deadline, int64_t *ret_size,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(1024);
	const struct json_value *root;
	struct docker_answer answer;

	buf_add_text(&path, "/images/");
	http_escape(&path, image);
	buf_add_text(&path, "/json");
	const struct docker_call call = {.method = "GET",
	                                 .path = buf_text(&path),
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};
	if (docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int ret = answer.status == 404 ? 0 : json_load(&arena, buf_span(&answer.body), &root, err);
	if (ret == 0)
		*ret_size = answer.status == 404 ? -1 : json_get_whole(root, "Size", 0);
	buf_done(&answer.body);
	return ret;
}

static int tag_image(struct provider *p, const char *image, const char *folder, int64_t deadline,
                     struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(2048);

	buf_add_text(&path, "/images/");
	http_escape(&path, image);
	buf_addf(&path, "/tag?repo=atoll-%s&tag=", as_docker(p)->server);
	http_escape(&path, folder);
	const struct docker_call call = {
	        .method = "POST", .path = buf_text(&path), .deadline = deadline};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

static int remove_image(struct provider *p, const char *folder, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(512), path = BUF(1024);

	imported_name(p, folder, &name);
	buf_add_text(&path, "/images/");
	http_escape(&path, buf_text(&name));
	const struct docker_call call = {.method = "DELETE",
	                                 .path = buf_text(&path),
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

/* A digest is given when the tag may have moved, so what the daemon has already is not enough. */
static int pull_image(struct provider *p, const struct provider_template *request, int64_t deadline,
                      int64_t *ret_size, struct error *err)
{
	if (find_image(p, request->source, deadline, ret_size, err) < 0)
		return -1;
	if (*ret_size >= 0 && !request->known_digest)
		return 0;
	if (docker_engine_pull(as_docker(p)->engine, request->source, deadline, err) < 0)
		return -1;
	return find_image(p, request->source, deadline, ret_size, err);
}

static int import_image(struct provider *p, const struct provider_template *request,
                        int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(512);
	int64_t size;

	if (strcmp(request->recipe, "registry") != 0 || !request->source)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider 'docker' imports images of a registry, not '%s'",
		            request->recipe);
	if (request->source_fd >= 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider 'docker' pulls without a login: pull the image with docker, "
		            "then import it");
	imported_name(p, request->name, &name);
	if (find_image(p, buf_text(&name), deadline, &size, err) < 0)
		return -1;
	if (size >= 0)
		return FAIL(err, ERROR_CONFLICT, "template '%s' exists already", request->name);
	if (pull_image(p, request, deadline, &size, err) < 0)
		return -1;
	if (request->size_max > 0 && size > 0 && (uint64_t)size > request->size_max)
		return FAIL(err, ERROR_LIMIT, "image '%s' has %lld bytes, more than %llu",
		            request->source, (long long)size,
		            (unsigned long long)request->size_max);
	if (request->on_size)
		request->on_size(request->context, size);
	return tag_image(p, request->source, request->name, deadline, err);
}

int docker_template_make(struct provider *p, const struct provider_template *request,
                         int64_t deadline, struct error *err)
{
	switch (request->verb) {
	case PROVIDER_TEMPLATE_REMOVE:
		return remove_image(p, request->name, deadline, err);
	case PROVIDER_TEMPLATE_IMPORT:
		return import_image(p, request, deadline, err);
	case PROVIDER_TEMPLATE_BUILD:
	default:
		break;
	}
	(void)FAIL(err, ERROR_UNSUPPORTED, "provider 'docker' does not build template '%s'",
	           request->name);
	return FAIL_HINT(err, "create from an image, or from template 'host', which is the image "
	                      "docker_image");
}
