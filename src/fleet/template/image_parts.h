/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/image_parts.h — templates of pulled images, for the other files of this folder. */
#pragma once

#include <stdbool.h>

#include "fleet/template/import.h"

struct arena;

/* templates.c: the folder with the descriptions of the primary's templates. */
const char *templates_dir(const struct fleet *f, struct arena *a);

/* Inserts the row of an image before its pull. ERROR_CONFLICT when the name is taken. */
MUST_CHECK int image_insert_pulled(struct fleet *f, const struct fleet_image *image,
                                   const char *name, struct error *err);

/* image_refresh.c */

/* Whether the template is the newer image of another one, whose name it takes when it is ready. */
bool image_is_successor(const struct template_record *t);
/* The digest of the image that the successor would replace; "" = not known. */
const char *image_known_digest(struct fleet *f, struct arena *a,
                               const struct template_record *successor);
/* The registry has the same image: removes the row of the successor. */
MUST_CHECK int image_keep_old(struct fleet *f, struct arena *a,
                              const struct template_record *successor, struct error *err);
/* The successor is ready: it gets the name, and the old template its own id as name. */
MUST_CHECK int image_take_name(struct fleet *f, struct arena *a, struct template_record *successor,
                               struct error *err);
