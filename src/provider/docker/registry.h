/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/registry.h — asks a registry for an image's manifest. What this server may not
 * read there, without a login or with that of the request, no project gets from the daemon. Blocks.
 * Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define REGISTRY_DIGEST_SIZE (sizeof("sha256:") + 64)

struct registry_image {
	char name[600];                      /* "docker.io/library/debian" */
	char digest[REGISTRY_DIGEST_SIZE];   /* what the tag stands for */
	char manifest[REGISTRY_DIGEST_SIZE]; /* the image for this machine: that, or a part of it */
	int64_t packed_bytes;                /* of its layers, as they are sent */
};

struct registry_question {
	const char *reference; /* checked by image_reference_check */
	bool allows_private;   /* the registry may have an address of the server's own network */
	int64_t deadline;
	const char *login; /* the value of Authorization; NULL = none */
};
/* ERROR_NOT_FOUND: the registry does not show it to everyone, or to this login. ERROR_FORBIDDEN:
 * its address is one of the server's own network. */
MUST_CHECK int registry_find(const struct registry_question *question, struct registry_image *ret,
                             struct error *err);
