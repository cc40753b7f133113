/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/layers.h — layers: results of build steps, cached for later builds with the same
 * step. A running build pins the layers it uses. A layer that is not pinned, not cached and below
 * no template is removed. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct error;
struct fleet;
struct layer_pins;

struct layer_pins *layer_pins_new(void);
void layer_pins_free(struct layer_pins *pins);

void layer_pin(struct fleet *f, const char *id);   /* "" is fine */
void layer_unpin(struct fleet *f, const char *id); /* "" is fine */
/* Removes the layer unless the cache, a template or a build needs it. "" is fine; a sweep removes
 * what cannot be removed now. */
void layer_release(struct fleet *f, const char *id);
/* Removes least recently used layers until the cache has its configured size. */
void layers_trim(struct fleet *f);
/* Removes the layers that were built on a template from the cache. */
MUST_CHECK int layers_forget(struct fleet *f, const char *template_id, struct error *err);
/* Removes all layers of a project that has no template any more. */
MUST_CHECK int layers_end(struct fleet *f, const char *project_id, struct error *err);
/* Removes layers that no cache entry, template or build needs. Each minute. */
void layers_sweep(struct fleet *f, bool at_boot);
/* Tells all providers that the files of a template are gone. */
void template_files_gone(struct fleet *f, const char *folder);
