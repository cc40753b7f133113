/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/sandboxes.h — how a call names a thing of a project, and rows of sandboxes: find,
 * visit, and the check that one is here. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct fleet_awaited;
struct fleet_use;
struct provider;
struct provider_ops;
struct provider_set;
struct provider_stats;
struct sandbox_record;

struct fleet_ref {
	const char *project_id;
	const char *id_or_name;              /* of a sandbox, a template, a snapshot … */
	const struct fleet_use *use;         /* what fleet_hold meters; NULL: nothing */
	const struct fleet_awaited *awaited; /* NULL: the thread waits; else see waiting.h */
};

MUST_CHECK int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stats(struct fleet *fleet, const struct sandbox_record *r,
                           struct provider_stats *ret, struct error *err);

typedef void fleet_visit(struct fleet *f, const struct sandbox_record *r, void *context);
/* Visits each row of this server whose provider is open and that is not deleted. */
MUST_CHECK int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context,
                                  struct error *err);
/* The providers of this server; see provider/set.h. */
struct provider_set *fleet_providers(struct fleet *f);
/* The table of the sandbox's provider, also while it is not open. NULL: neither a configured
 * provider nor a kind has the name in the row. */
const struct provider_ops *sandbox_provider_ops(const struct fleet *f,
                                                const struct sandbox_record *r);
/* The provider that the row names. NULL: it is not configured, or not open. */
struct provider *sandbox_provider(const struct fleet *f, const struct sandbox_record *r);
struct provider_place;
/* See provider/reports.h. False: its provider does not tell. Makes no call to the provider. */
bool sandbox_place(const struct fleet *f, const struct sandbox_record *r,
                   struct provider_place *ret);
/* The provider of a sandbox of this server, for calls that know no row. */
MUST_CHECK int sandbox_provider_find(struct fleet *f, const char *id, struct provider **ret,
                                     struct error *err);
/* Requires an ability of the sandbox's provider, which is open. Snapshots and volumes are the
 * primary's: the sandbox's provider must share them. `ability`: enum provider_ability. */
MUST_CHECK int sandbox_require(const struct fleet *f, const struct sandbox_record *r,
                               unsigned ability, struct error *err);
/* Whether the sandbox belongs to this server, and its provider is open. */
bool sandbox_is_local(const struct fleet *f, const struct sandbox_record *r);
MUST_CHECK int sandbox_check_local(const struct fleet *f, const struct sandbox_record *r,
                                   struct error *err);
/* Started or paused: its processes exist. */
bool sandbox_is_alive(const struct sandbox_record *r);
/* "sandbox 'x' is stopped and cannot be paused"; returns -1. */
int refuse_state(const struct sandbox_record *r, const char *what, struct error *err);

/* Whether only the server `owner` may remove something of this provider that no row knows. What a
 * shared provider has is any server's when its owner is gone. */
bool remains_are_anothers(struct fleet *f, struct provider *p, const char *owner);
