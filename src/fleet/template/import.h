/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/import.h — templates from images of registries and from files. */
#pragma once

#include "image/image.h"

struct fleet;
struct fleet_recipe;
struct template_record;

struct fleet_import {
	const char *project_id, *name, *description;
	const char *reference; /* of IMAGE_REGISTRY */
	enum image_format format;
	const struct image_login *login;   /* at the registry; NULL: none */
	int source_fd;                     /* all but IMAGE_REGISTRY; owned by the caller */
	const struct fleet_recipe *recipe; /* replaces what the image says; NULL: nothing */
};
MUST_CHECK int fleet_template_import(struct fleet *fleet, struct arena *a,
                                     const struct fleet_import *request,
                                     struct template_record *ret, struct error *err);
/* The ready template of that name; imported if it is missing. Of concurrent calls one imports it
 * and the others wait. For an image that needs a login. */
MUST_CHECK int fleet_template_of_image(struct fleet *fleet, struct arena *a,
                                       const struct fleet_import *request, int64_t deadline,
                                       struct template_record *ret, struct error *err);
/* Two images may lead to one name: "a/b:c" and "a-b/c". ERROR_CONFLICT for a template that is known
 * to be of another image; an imported file may be of any. */
MUST_CHECK int fleet_template_check_image(const struct template_record *t, const char *image,
                                          struct error *err);

/* The name for the template of an image: python-3.12 for "python:3.12"; a long name ends in a
 * digest. */
const char *fleet_image_name(struct arena *a, const char *reference);
struct fleet_image {
	const char *project_id, *reference;
	const char *name; /* of its template; NULL: fleet_image_name */
};
/* Images by name: the project's template of the image. A missing one is made in PENDING;
 * fleet_template_ready or fleet_template_require pulls it. It is a cache: images_sweep removes it
 * when it has not been used for long. */
MUST_CHECK int fleet_image_template(struct fleet *fleet, struct arena *a,
                                    const struct fleet_image *image, struct template_record *ret,
                                    struct error *err);
/* pull "never": ERROR_NOT_FOUND unless the image was pulled or imported. */
MUST_CHECK int fleet_image_cached(struct fleet *fleet, struct arena *a,
                                  const struct fleet_image *image, struct template_record *ret,
                                  struct error *err);
struct fleet_awaited;
struct fleet_refresh {
	const struct fleet_awaited *awaited; /* as in fleet_ref; NULL: the call waits */
	int64_t deadline;
};
/* pull "always", after fleet_image_template: asks the registry, and pulls the image if it is not
 * the one of *t. The newer image becomes *t; sandboxes of the older one keep it. */
MUST_CHECK int fleet_image_refresh(struct fleet *fleet, struct arena *a,
                                   const struct fleet_refresh *refresh, struct template_record *t,
                                   struct error *err);
/* A sandbox or a build begins on the template: a pulled image is kept longer. */
MUST_CHECK int fleet_image_use(struct fleet *fleet, const struct template_record *t,
                               struct error *err);
