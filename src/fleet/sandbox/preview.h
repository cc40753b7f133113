/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/preview.h — previews: browsers' access to servers in a sandbox.
 *
 * A grant opens one port of one sandbox until a time. Its text is signed and complete; nothing is
 * stored. All servers of a database accept it, because they sign with the same key of that
 * database. A private grant is for callers that may use the sandbox. It names its maker and ends
 * when the maker loses access. A shared grant needs config->preview_sharing and a sandbox with
 * public previews, and is signed with config->preview_secret if there is one. It belongs to the
 * sandbox. Both end when previews are switched off, or with the next generation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "fleet/core/access.h"
#include "fleet/core/caller.h"
#include "fleet/lifecycle/hold.h"

struct arena;
struct fleet;
struct sandbox_record;

/* Checks that previews are on, the sandbox has a network, and the server or the template shows the
 * port. */
MUST_CHECK int fleet_preview_check(struct fleet *fleet, struct arena *a,
                                   const struct sandbox_record *r, uint16_t port,
                                   struct error *err);
/* Whether the server shows the port, regardless of the template. Never blocks. */
bool fleet_preview_is_listed(const struct fleet *fleet, uint16_t port);
/* All shown ports as a text: "3000,8000-8010", those of the template included; or "any". */
MUST_CHECK int fleet_preview_ports(struct fleet *fleet, struct arena *a,
                                   const struct sandbox_record *r, const char **ret,
                                   struct error *err);

/* -1 = unchanged, 0 = off, 1 = on. Switching off or private implies `rotate`. */
struct fleet_preview {
	int enabled, is_public;
	bool rotate; /* all grants end */
};
MUST_CHECK int fleet_preview_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 const struct fleet_preview *change, struct sandbox_record *ret,
                                 struct error *err);

#define FLEET_GRANT_DEFAULT_MS (24 * 3600 * INT64_C(1000))
#define FLEET_GRANT_PRIVATE_MS (3600 * INT64_C(1000))
#define FLEET_GRANT_MAX_MS (30 * 24 * 3600 * INT64_C(1000))
#define FLEET_GRANT_TEXT_MAX 160

struct fleet_grant {
	char sandbox_id[ID_SIZE + 1];
	uint16_t port;
	bool is_shared;
	int64_t expires_at; /* unix ms; whole seconds */
	int64_t generation;
	struct fleet_caller maker; /* of a private grant; the surface checks its access */
};
/* ERROR_CONFLICT with a hint if the sandbox or the server does not share previews. */
MUST_CHECK int fleet_grant_make(struct fleet *fleet, const struct sandbox_record *r,
                                const struct fleet_grant *grant, char ret[FLEET_GRANT_TEXT_MAX],
                                struct error *err);
/* ERROR_NOT_FOUND for a text with a wrong signature and for an expired one. */
MUST_CHECK int fleet_grant_read(struct fleet *fleet, struct span text, int64_t now,
                                struct fleet_grant *ret, struct error *err);
/* Returns -1 with the error for a link that is not valid. */
int fleet_grant_refuse(struct error *err);
/* Whether the grant is still valid for the sandbox. */
MUST_CHECK int fleet_grant_check(const struct fleet_grant *grant, const struct sandbox_record *r,
                                 struct error *err);
