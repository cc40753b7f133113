/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/login.h — a login at a registry, in the two forms that are sent. Private to this
 * folder. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "image/image.h"

struct provider;
struct provider_template;

struct docker_login {
	bool has_login;
	struct buf basic, docker; /* of Authorization and X-Registry-Auth */
};
#define DOCKER_LOGIN_NONE                                                                          \
	{                                                                                          \
		.basic = BUF(IMAGE_LOGIN_MAX), .docker = BUF(IMAGE_LOGIN_MAX)                      \
	}
/* Overwrites it. */
void docker_login_done(struct docker_login *login);
/* NULL: there is none. */
const char *docker_login_of(const struct docker_login *login);
/* The login of the request; else, for an image that the operator listed, the operator's. */
MUST_CHECK int docker_find_login(struct provider *p, const struct provider_template *request,
                                 bool is_listed, struct docker_login *ret, struct error *err);
/* The operator's for this image. */
MUST_CHECK int docker_own_login(struct provider *p, const char *image, struct docker_login *ret,
                                struct error *err);
