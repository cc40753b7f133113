/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/builds.h — what the other files of this folder need of builds. Private to it. */
#pragma once

#include "fleet/parts.h"

/* What the files of a build's sandbox begin with, in place of its template's layer. Its template's
 * entrypoint is not started. */
struct build_base {
	const char *layer; /* "" = the template's folder alone */
};

/* ---- build.c ---- */

struct builds_in_flight *builds_in_flight_new(void);
void builds_in_flight_free(struct builds_in_flight *builds);
/* Ends those that run: the server goes. */
void builds_leave(struct fleet *f);
/* What nobody is building any more, because the server went away, has failed. */
MUST_CHECK int builds_recover(struct fleet *f, struct error *err);
void builds_tick(struct fleet *f);
/* Ends a project's builds. */
MUST_CHECK int builds_end(struct fleet *f, const char *project_id, struct error *err);

/* ---- layers.c ---- */

/* Removes it unless the cache, a template or a build needs it. "" is fine; what cannot be removed
 * now is swept later. */
void layer_release(struct fleet *f, const char *id);
/* Takes what was built on a template out of the cache. */
MUST_CHECK int layers_forget(struct fleet *f, const char *template_id, struct error *err);
/* Removes all of a project that has no template any more. */
MUST_CHECK int layers_end(struct fleet *f, const char *project_id, struct error *err);
void layers_sweep(struct fleet *f, bool at_boot);
