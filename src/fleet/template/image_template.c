/* SPDX-License-Identifier: Apache-2.0 */
/* The template of a registry's image: found by name, or imported. */
#include <string.h>

#include "fleet/core/fleet_state.h"
#include "fleet/template/import.h"
#include "fleet/template/templates.h"

/* Limit for callers that import the same image and fail one after the other. */
#define IMPORT_TRIES 16

int fleet_template_check_image(const struct template_record *t, const char *image,
                               struct error *err)
{
	enum image_format format;

	if (strcmp(t->name, image) == 0 || image_reference_is_same(t->base_image, image) ||
	    image_format_parse(t->base_image, &format, &(struct error){0}) == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "image '%.200s' would be the template '%s', which is of '%.100s'", image,
	           t->name, t->base_image);
	return FAIL_HINT(err, "remove that template, or name it in place of the image");
}

/* The template exists: checks its image and waits until it is ready. */
static int take_imported(struct fleet *f, struct arena *a, const struct fleet_import *request,
                         int64_t deadline, struct template_record *t, struct error *err)
{
	if (store_template_find(f->store, a, request->project_id, request->name, t, err) < 0 ||
	    fleet_template_check_image(t, request->reference, err) < 0)
		return -1;
	return fleet_template_ready(f, a, t, deadline, err);
}

/* Another caller may start the import between the lookup and this import, and may fail while this
 * one waits; then the row is gone. */
int fleet_template_of_image(struct fleet *fleet, struct arena *a,
                            const struct fleet_import *request, int64_t deadline,
                            struct template_record *ret, struct error *err)
{
	for (unsigned i = 1;; i++) {
		if (take_imported(fleet, a, request, deadline, ret, err) == 0)
			return 0;
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (fleet_template_import(fleet, a, request, ret, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT || i == IMPORT_TRIES ||
		    clock_monotonic_ms() >= deadline)
			return -1;
		error_clear(err);
	}
}
