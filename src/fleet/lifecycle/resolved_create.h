/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/resolved_create.h — a create request with its template, its project and the
 * defaults applied: the row to insert, and where its files come from. */
#pragma once

#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/route.h"
#include "store/sandbox_record.h"
#include "store/templates.h"
#include "store/volumes.h"

struct fleet;
struct fleet_create;

struct resolved_create {
	const struct fleet_create *request;
	const char *snapshot;          /* id of the snapshot that the request names; NULL: none */
	const char *snapshot_provider; /* that took it */
	const char *layer; /* the files begin with: the snapshot or a layer of the template; NULL */
	struct template_record template;
	struct sandbox_record record; /* in PENDING; texts in the arena or borrowed */
	unsigned sandboxes_max;
	int64_t project_version; /* of the project row that was applied */
	bool is_outdated;        /* the project has changed since: resolve again */
	struct mount_list mounts;
	struct provider_route route; /* its first provider is the record's */
};
/* Checks the request and the budgets, and finds its snapshot and template. */
MUST_CHECK int create_prepare(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                              struct error *err);
/* Fills the record from request, template and project. */
MUST_CHECK int request_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                               struct error *err);
/* Fills the mounts: finds the requested volumes, and creates the persistent home if need be. */
MUST_CHECK int mounts_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                              struct error *err);
/* A request for another sandbox like this one: everything of its row except name, times and
 * volumes. It names the provider, if the server still has it, and at least its isolation. */
MUST_CHECK int request_like_sandbox(const struct fleet *f, struct arena *a,
                                    const struct sandbox_record *r, struct fleet_create *ret,
                                    struct error *err);
