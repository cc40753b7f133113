/* SPDX-License-Identifier: Apache-2.0 */
/* What a create names as the source of its sandbox: a template, or an image. */
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_cache.h"
#include "fleet/lifecycle/create.h"
#include "fleet/template/import.h"
#include "store/templates.h"

#define HINT_NAMES_MAX ((size_t)360)

/* For a name that is no template's: those that are, and how an image is named. */
static void hint_templates(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                           struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(HINT_NAMES_MAX);
	struct error ignored = {0};
	struct template_list list;

	if (store_template_list(f->store, a, ref->project_id, &list, &ignored) < 0)
		return;
	for (size_t i = 0; i < list.count && names.size + IMAGE_NAME_MAX < HINT_NAMES_MAX; i++) {
		/* Pulled images are named as images. */
		if (!list.items[i].is_pulled)
			buf_addf(&names, "%s%s", names.size > 0 ? ", " : "", list.items[i].name);
	}
	error_hint(err,
	           "known templates: %s; for an image of a registry give image: \"%.60s:latest\"",
	           buf_text(&names), ref->id_or_name);
}

const char *const fleet_pull_names[] = {
        [FLEET_PULL_MISSING] = "missing",
        [FLEET_PULL_ALWAYS] = "always",
        [FLEET_PULL_NEVER] = "never",
        [FLEET_PULL_COUNT] = NULL,
};

static int find_image(struct fleet *f, struct arena *a, const char *project_id,
                      const struct fleet_create *request, struct template_record *ret,
                      struct error *err)
{
	const struct fleet_image image = {project_id, request->image, NULL};
	const struct fleet_refresh refresh = {request->awaited,
	                                      deadline_after(TEMPLATE_TIMEOUT_MS)};

	if (request->pull == FLEET_PULL_NEVER)
		return fleet_image_cached(f, a, &image, ret, err);
	if (fleet_image_template(f, a, &image, ret, err) < 0)
		return -1;
	return request->pull == FLEET_PULL_ALWAYS ? fleet_image_refresh(f, a, &refresh, ret, err)
	                                          : 0;
}

int create_find_template(struct fleet *fleet, struct arena *a, const char *project_id,
                         const struct fleet_create *request, struct template_record *ret,
                         struct error *err)
{
	const struct fleet_ref ref = {project_id, request->template
	                                                  ? request->template
	                                                  : fleet->config->default_template};

	if (request->image) {
		if (find_image(fleet, a, project_id, request, ret, err) < 0)
			return -1;
	} else if (template_find(fleet, a, &ref, ret, err) < 0) {
		if (err->code == ERROR_NOT_FOUND)
			hint_templates(fleet, a, &ref, err);
		return -1;
	}
	return fleet_image_use(fleet, ret, err);
}
