/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/preview.h — who may see what of a sandbox's servers. Part of the fleet's contract, see
 * fleet.h.
 *
 * A grant is for one port of one sandbox until a time. Its text is signed, and holds all that it
 * says: nothing is kept of it. A private one is good for who may use the sandbox anyway, and is
 * signed with a key of this process; a shared one wants config->preview_secret and a sandbox whose
 * previews are public. Both end when previews are switched off, or with the next generation. */
#pragma once

#include "fleet/fleet.h"

/* Switched on, reachable, and a port that the server or the template shows. */
MUST_CHECK int fleet_preview_check(struct fleet *fleet, struct arena *a,
                                   const struct sandbox_record *r, uint16_t port,
                                   struct error *err);
/* Whether the server shows it, whatever the template says. Blocks never. */
bool fleet_preview_is_listed(const struct fleet *fleet, uint16_t port);
/* The ports as people write them: "3000, 8000-8010" with the template's, or "any". */
MUST_CHECK int fleet_preview_ports(struct fleet *fleet, struct arena *a,
                                   const struct sandbox_record *r, const char **ret,
                                   struct error *err);

/* -1 leaves it, 0 = off, 1 = on. What is taken back is void at once: `rotate` is implied. */
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
#define FLEET_GRANT_TEXT_MAX 128

struct fleet_grant {
	char sandbox_id[ID_SIZE + 1];
	uint16_t port;
	bool is_shared;
	int64_t expires_at; /* unix ms; whole seconds */
	int64_t generation;
};
/* Refused with ERROR_CONFLICT, and what to do, when the sandbox or the server shares nothing. */
MUST_CHECK int fleet_grant_make(struct fleet *fleet, const struct sandbox_record *r,
                                const struct fleet_grant *grant, char ret[FLEET_GRANT_TEXT_MAX],
                                struct error *err);
/* ERROR_NOT_FOUND for a text that nobody signed, or whose time is over. */
MUST_CHECK int fleet_grant_read(struct fleet *fleet, struct span text, int64_t now,
                                struct fleet_grant *ret, struct error *err);
/* Whether it still holds for the sandbox. */
MUST_CHECK int fleet_grant_check(const struct fleet_grant *grant, const struct sandbox_record *r,
                                 struct error *err);
