/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "http/client/client.h"
#include "image/image.h"
#include "json/json.h"
#include "provider/docker/login.h"
#include "provider/docker/registry.h"
#include "provider/templates.h"

#define DEFAULT_FOLDER "host" /* of the template that needs no build */
#define TAKE_TRIES 3
#define CLEAN_UP_MS 10000

static const int missing_is_fine[] = {404, 0};

/* Imported images have a name that holds this server's id. */
static void imported_name(struct provider *p, const char *folder, struct buf *out)
{
	buf_addf(out, "atoll-%s:%s", as_docker(p)->image_owner, folder);
}

bool docker_image_is_imported(const char *folder)
{
	return strcmp(folder, DEFAULT_FOLDER) != 0;
}

int docker_image_of(struct provider *p, const char *folder, struct buf *out, struct error *err)
{
	const char *image = docker_options_of(as_docker(p))->image;

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

int docker_pull_own(struct provider *p, const char *image, int64_t deadline, struct error *err)
{
	struct docker_login login = DOCKER_LOGIN_NONE;
	struct docker_pull pull = {.image = image, .deadline = deadline};
	int status = docker_own_login(p, image, &login, err);

	pull.login = docker_login_of(&login);
	if (status == 0)
		status = docker_engine_pull(as_docker(p)->engine, &pull, err);
	docker_login_done(&login);
	return status;
}

/* The size of an image in bytes; -1: the daemon has none of this whole name. */
static int find_image(struct provider *p, const char *image, int64_t deadline, int64_t *ret_size,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(2048);
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
	int ret = answer.status == 404
	                  ? 0
	                  : docker_load_answer(&arena, buf_span(&answer.body), &root, err);
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
	buf_addf(&path, "/tag?repo=atoll-%s&tag=", as_docker(p)->image_owner);
	http_escape(&path, folder);
	const struct docker_call call = {
	        .method = "POST", .path = buf_text(&path), .deadline = deadline};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

/* The image goes when this was its last name. */
static int drop_name(struct provider *p, const char *name, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(2048);

	buf_add_text(&path, "/images/");
	http_escape(&path, name);
	const struct docker_call call = {.method = "DELETE",
	                                 .path = buf_text(&path),
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

static int open_descriptions(struct provider *p, struct error *err)
{
	char path[PATH_SIZE_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/templates", as_docker(p)->root);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? FAIL_ERRNO(err, "open '%s'", path) : fd;
}

static int remove_image(struct provider *p, const char *folder, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(512);
	char description[PATH_NAME_MAX];
	AUTO_CLOSE int templates = open_descriptions(p, err);

	if (templates < 0 || image_name_check(folder, err) < 0)
		return -1;
	imported_name(p, folder, &name);
	if (drop_name(p, buf_text(&name), deadline, err) < 0)
		return -1;
	(void)unlinkat(templates, folder, AT_REMOVEDIR);
	(void)snprintf(description, sizeof(description), ".%s.json", folder);
	(void)unlinkat(templates, description, 0);
	return 0;
}

/* The name by which the daemon has it; the caller's spelling may be one that the daemon takes for
 * an id. */
static void write_whole_name(const char *reference, struct buf *out)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct image_reference r = image_reference_read(&arena, reference);

	if (*r.digest)
		buf_addf(out, "%s/%s@%s", r.host, r.path, r.digest);
	else
		buf_addf(out, "%s/%s:%s", r.host, r.path, r.tag);
}

/* Whether the operator lets every project use it. */
static bool is_listed(const struct docker_options *options, const char *reference)
{
	struct span rest = span_of(options->images ? options->images : ""), item;
	bool more;

	if (*options->image && image_reference_is_same(options->image, reference))
		return true;
	do {
		AUTO(arena_done) struct arena arena = {0};

		more = span_split(&rest, ',', &item);
		item = span_trim(item);
		if (item.size > 0 && image_reference_is_same(arena_copy(&arena, item), reference))
			return true;
	} while (more);
	return false;
}

/* An image of the daemon, or one to pull. */
struct image_source {
	struct buf name; /* by which the daemon has it, or will */
	char digest[REGISTRY_DIGEST_SIZE];
	int64_t packed_bytes;
	bool is_pulled;
	struct docker_login login;
};

/* What a project may use: what the operator listed, or what its registry shows to everyone. */
static int find_source(struct provider *p, const struct provider_template *request,
                       int64_t deadline, struct image_source *ret, struct error *err)
{
	const struct docker_options *options = docker_options_of(as_docker(p));
	struct registry_question question = {request->source, options->allows_private, deadline};
	struct registry_image found;
	int64_t size = -1;

	if (image_reference_check(request->source, err) < 0 ||
	    docker_find_login(p, request, is_listed(options, request->source), &ret->login, err) <
	            0)
		return -1;
	question.login = ret->login.has_login ? buf_text(&ret->login.basic) : NULL;
	if (is_listed(options, request->source)) {
		write_whole_name(request->source, &ret->name);
		if (find_image(p, buf_text(&ret->name), deadline, &size, err) < 0)
			return -1;
		if (size >= 0)
			return 0;
		buf_reset(&ret->name);
	}
	if (registry_find(&question, &found, err) < 0)
		return -1;
	buf_addf(&ret->name, "%s@%s", found.name, found.manifest);
	memcpy(ret->digest, found.digest, sizeof(ret->digest));
	ret->packed_bytes = found.packed_bytes;
	ret->is_pulled = true;
	return 0;
}

static int fail_large(const struct provider_template *request, int64_t bytes, struct error *err)
{
	return FAIL(err, ERROR_LIMIT, "image '%.200s' has %lld bytes, more than %llu",
	            request->source, (long long)bytes, (unsigned long long)request->size_max);
}

static int describe_image(struct provider *p, const char *folder, const struct image_source *source,
                          int64_t size, struct error *err)
{
	const struct image_config config = {.env_json = "",
	                                    .entrypoint_json = "",
	                                    .ports_json = "",
	                                    .user = "",
	                                    .workdir = "",
	                                    .size_bytes = size,
	                                    .digest = source->digest};
	AUTO_CLOSE int templates = open_descriptions(p, err);

	return templates < 0 ? -1 : image_config_save(templates, folder, &config, err);
}

static bool is_described(struct provider *p, const char *folder)
{
	AUTO(arena_done) struct arena arena = {0};
	struct image_config config;
	char path[PATH_SIZE_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/templates", as_docker(p)->root);
	return image_config_load(&arena, path, folder, &config, &(struct error){0}) == 0;
}

static int take_image(struct provider *p, const struct provider_template *request,
                      const struct image_source *source, int64_t deadline, struct error *err)
{
	int64_t size = -1;

	const struct docker_pull pull = {.image = buf_text(&source->name),
	                                 .login = docker_login_of(&source->login),
	                                 .deadline = deadline};
	if (source->is_pulled && docker_engine_pull(as_docker(p)->engine, &pull, err) < 0)
		return -1;
	if (find_image(p, buf_text(&source->name), deadline, &size, err) < 0)
		return -1;
	if (request->size_max > 0 && size > 0 && (uint64_t)size > request->size_max)
		return fail_large(request, size, err);
	if (request->on_size)
		request->on_size(request->context, size);
	return tag_image(p, buf_text(&source->name), request->name, deadline, err) < 0
	               ? -1
	               : describe_image(p, request->name, source, size, err);
}

/* Between the pull and the tag another import of the same image may drop the name that both have.
 */
static int take_or_retry(struct provider *p, const struct provider_template *request,
                         const struct image_source *source, int64_t deadline, struct error *err)
{
	for (unsigned i = 1; take_image(p, request, source, deadline, err) < 0; i++) {
		if (err->code != ERROR_NOT_FOUND || !source->is_pulled || i == TAKE_TRIES)
			return -1;
		error_clear(err);
	}
	return 0;
}

static int import_source(struct provider *p, const struct provider_template *request,
                         const struct image_source *source, int64_t deadline, struct error *err)
{
	struct error second = {0};

	if (request->known_digest && *request->known_digest &&
	    strcmp(request->known_digest, source->digest) == 0)
		return 0;
	if (request->size_max > 0 && source->packed_bytes > 0 &&
	    (uint64_t)source->packed_bytes > request->size_max)
		return fail_large(request, source->packed_bytes, err);
	int ret = take_or_retry(p, request, source, deadline, err);
	/* Only the template's own name keeps it, so that it goes with the template. */
	if (source->is_pulled &&
	    drop_name(p, buf_text(&source->name), deadline_after(CLEAN_UP_MS), &second) < 0)
		log_warning("a pulled image keeps a name of its own",
		            TEXT("image", buf_text(&source->name)), FAILURE(&second));
	return ret;
}

static int import_image(struct provider *p, const struct provider_template *request,
                        int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(512);
	struct image_source source = {.name = BUF(1024), .login = DOCKER_LOGIN_NONE};
	int64_t size = -1;

	if (strcmp(request->recipe, "registry") != 0 || !request->source)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider 'docker' imports images of a registry, not '%s'",
		            request->recipe);
	imported_name(p, request->name, &name);
	if (find_image(p, buf_text(&name), deadline, &size, err) < 0)
		return -1;
	if (size >= 0 && is_described(p, request->name))
		return FAIL(err, ERROR_CONFLICT, "template '%s' exists already", request->name);
	/* An import that was killed has left it. */
	if (size >= 0 && drop_name(p, buf_text(&name), deadline, err) < 0)
		return -1;
	int ret = find_source(p, request, deadline, &source, err) < 0
	                  ? -1
	                  : import_source(p, request, &source, deadline, err);
	buf_done(&source.name);
	docker_login_done(&source.login);
	return ret;
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
