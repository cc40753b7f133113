/* SPDX-License-Identifier: Apache-2.0 */
/* provider/templates.h — builds, imports or removes the root filesystem of a template: the folder
 * DATA/templates/NAME. The rules of provider.h apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider;

enum provider_template_verb {
	PROVIDER_TEMPLATE_BUILD,
	PROVIDER_TEMPLATE_IMPORT,
	PROVIDER_TEMPLATE_REMOVE,
};
struct provider_template {
	enum provider_template_verb verb;
	const char *name; /* of the folder */
	const char
	        *recipe; /* BUILD: "base", … IMPORT: "tar", "oci", "docker-archive", "registry" */
	const char *source; /* IMPORT of "registry": the image's reference; else NULL */
	/* IMPORT of "registry": with this digest the image is not loaded, and no folder is made;
	 * NULL or "" = any */
	const char *known_digest;
	/* IMPORT: the file, or the login of the registry; -1 = none. The caller closes it. */
	int source_fd;
	uint64_t size_max; /* IMPORT: ERROR_LIMIT beyond; 0 = the largest size of an image */

	/* All three run on the calling thread and may be NULL. */
	void (*on_progress)(void *context, int percent, const char *text);
	void (*on_size)(void *context, int64_t bytes); /* the template has grown to this size */
	bool (*is_given_up)(void *context);            /* asked about once a second */
	void *context;
};

/* Blocks until the template's folder is complete (or removed), or nothing is left of the attempt.
 * Removing a missing template succeeds; making an existing one is ERROR_CONFLICT. The work is ended
 * when the deadline passes. */
MUST_CHECK int provider_template(struct provider *p, const struct provider_template *request,
                                 int64_t deadline, struct error *err);
