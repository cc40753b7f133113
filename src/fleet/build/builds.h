/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/build/builds.h — the builds of this server, for server/. */
#pragma once

#include "base/error.h"

struct builds_in_flight;
struct error;
struct fleet;

struct builds_in_flight *builds_in_flight_new(void);
void builds_in_flight_free(struct builds_in_flight *builds);
/* Ends all builds, because the server ends. */
void builds_leave(struct fleet *f);
/* Ends the builds of a project. */
MUST_CHECK int builds_end(struct fleet *f, const char *project_id, struct error *err);
/* Fails builds that no process runs any more. Also at boot. */
MUST_CHECK int builds_recover(struct fleet *f, struct error *err);
/* Each minute. */
void builds_tick(struct fleet *f);
