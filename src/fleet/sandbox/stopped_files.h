/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/stopped_files.h — reads files of a stopped sandbox without starting it.
 *
 * The agent of a small sandbox without network reads them, from a view of the stopped sandbox's
 * layers that nothing can write to; so the host follows no path of the sandbox. Each
 * stopped_files_open makes such a sandbox, and stopped_files_close ends it. Worker threads. */
#pragma once

#include "base/error.h"

struct arena;
struct file_review;
struct fleet;
struct provider;
struct sandbox_record;

#define STOPPED_FILES_ROOT "/review/now" /* where that agent sees them */

struct stopped_files {
	struct provider *provider;
	const char *id;             /* of the small sandbox */
	struct file_review *review; /* NULL: not open */
};
/* ERROR_CONFLICT if the sandbox is not stopped, ERROR_UNSUPPORTED if its provider has no layers. */
MUST_CHECK int stopped_files_open(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                                  struct stopped_files *ret, struct error *err);
void stopped_files_close(struct stopped_files *s); /* zeroed is fine */
