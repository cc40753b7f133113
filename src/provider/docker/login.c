/* SPDX-License-Identifier: Apache-2.0 */
/* Logins at registries. That of a request comes in a file in memory and is kept nowhere. Those of
 * the operator (docker_logins) are for docker_image and docker_images alone: with another image a
 * project would read with rights that it does not have. */
#include "provider/docker/login.h"

#include <string.h>
#include <unistd.h>

#include "provider/docker/docker.h"
#include "provider/templates.h"

void docker_login_done(struct docker_login *login)
{
	struct buf *const texts[] = {&login->basic, &login->docker};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (texts[i]->size > 0)
			explicit_bzero(texts[i]->data, texts[i]->size);
		buf_done(texts[i]);
	}
}

const char *docker_login_of(const struct docker_login *login)
{
	return login->has_login ? buf_text(&login->docker) : NULL;
}

static int use_login(struct span text, const char *image, struct docker_login *ret,
                     struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct image_login login;

	if (image_login_read(&arena, text, image, &login, err) < 0)
		return -1;
	image_login_write_basic(&login, &ret->basic);
	image_login_write_docker(&login, image, &ret->docker);
	ret->has_login = true;
	if (ret->basic.overflowed || ret->docker.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the login of a registry is too long");
	return 0;
}

int docker_own_login(struct provider *p, const char *image, struct docker_login *ret,
                     struct error *err)
{
	const char *logins = docker_options_of(as_docker(p))->logins;

	if (!logins || !*logins || use_login(span_of(logins), image, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return FAIL_CONTEXT(err, "docker_logins");
	error_clear(err);
	return 0;
}

int docker_find_login(struct provider *p, const struct provider_template *request, bool is_listed,
                      struct docker_login *ret, struct error *err)
{
	char text[IMAGE_LOGIN_MAX];
	ssize_t size;
	int status;

	if (request->source_fd < 0)
		return is_listed ? docker_own_login(p, request->source, ret, err) : 0;
	size = pread(request->source_fd, text, sizeof(text), 0);
	if (size < 0)
		return FAIL_ERRNO(err, "read the login of the request");
	status = use_login((struct span){text, (size_t)size}, request->source, ret, err);
	explicit_bzero(text, (size_t)size);
	return status;
}
