/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/builds.h — builds and their layers, for the other files of this folder. */
#pragma once

#include "base/error.h"

struct builds_in_flight;
struct fleet;

/* The files that the sandbox of a build begins with, instead of the layer of its template. The
 * entrypoint of the template is not started. */
struct build_base {
	const char *layer; /* "" = only the folder of the template */
};

/* ---- build.c ---- */

struct builds_in_flight *builds_in_flight_new(void);
void builds_in_flight_free(struct builds_in_flight *builds);
/* Ends all builds, because the server ends. */
void builds_leave(struct fleet *f);
/* Ends the builds of a project. */
MUST_CHECK int builds_end(struct fleet *f, const char *project_id, struct error *err);

/* ---- layers.c ---- */

/* Removes the layer unless the cache, a template or a build needs it. "" is fine; a sweep removes
 * what cannot be removed now. */
void layer_release(struct fleet *f, const char *id);
/* Removes the layers that were built on a template from the cache. */
MUST_CHECK int layers_forget(struct fleet *f, const char *template_id, struct error *err);
/* Removes all layers of a project that has no template any more. */
MUST_CHECK int layers_end(struct fleet *f, const char *project_id, struct error *err);
