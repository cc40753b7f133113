/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/access.h — tokens that open one sandbox or volume to who has no API key. Part of the
 * fleet's contract, see fleet.h.
 *
 * A token is worked out of the sandbox's id with a key that all servers of a database share:
 * nothing is kept of it, it never changes, and it says who may do what the API's callers could do
 * in that sandbox anyway, and nothing else. Any thread; these never block. */
#pragma once

#include "fleet/fleet.h"

#define FLEET_ACCESS_KEY_SIZE 32
#define FLEET_ACCESS_TOKEN_SIZE 64 /* hexadecimal digits */

enum fleet_access {
	FLEET_ACCESS_AGENT,   /* commands and files: E2B's envdAccessToken */
	FLEET_ACCESS_TRAFFIC, /* its guarded ports: E2B's trafficAccessToken */
	FLEET_ACCESS_VOLUME,  /* the files of a volume */
	FLEET_ACCESS_UPLOAD,  /* of files for a build, whose id says all of it */
	FLEET_ACCESS_BUILD,   /* to know one that was announced */
	FLEET_ACCESS_SIGNING, /* what clients of Daytona sign addresses of files with */
	FLEET_ACCESS_TICKET,  /* that a server has given out a ticket, which says all of it */
};
void fleet_access_token(const struct fleet *fleet, const char *id, enum fleet_access access,
                        char ret[FLEET_ACCESS_TOKEN_SIZE + 1]);
/* Whether somebody who is known by nothing but what he brings may reach a port of it: all ports of
 * SANDBOX_PORTS_OPEN, those of SANDBOX_PORTS_GUARDED by the traffic token. ERROR_UNAUTHENTICATED
 * for a sandbox whose ports are shown as previews are. */
MUST_CHECK int fleet_access_port(const struct fleet *fleet, const struct sandbox_record *r,
                                 struct span token, struct error *err);
/* Takes the same time whatever is wrong with it. */
bool fleet_access_check(const struct fleet *fleet, const char *id, enum fleet_access access,
                        struct span token);
