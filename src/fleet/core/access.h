/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/access.h — tokens that open one sandbox or volume to callers without an API key.
 *
 * A token is derived from the id and from a key that all servers of a database share. It is not
 * stored and never changes. It allows what the API allows in that sandbox, and nothing else. Any
 * thread; these calls never block. */
#pragma once

#include "base/bytes.h"

struct fleet;
struct sandbox_record;

/* Reads the key from the store, or makes it, and likewise the key of links to previews
 * (fleet/sandbox/preview.h). If the store fails, tokens are valid until this process ends. */
void access_open(struct fleet *f);

#define FLEET_ACCESS_TOKEN_SIZE 64 /* hexadecimal digits */

enum fleet_access {
	FLEET_ACCESS_AGENT,   /* commands and files: E2B's envdAccessToken */
	FLEET_ACCESS_TRAFFIC, /* guarded ports: E2B's trafficAccessToken */
	FLEET_ACCESS_VOLUME,  /* the files of a volume */
	FLEET_ACCESS_UPLOAD,  /* upload of files for a build; the id names project and files */
	FLEET_ACCESS_BUILD,   /* the state of an announced build */
	FLEET_ACCESS_SIGNING, /* the key with which Daytona's clients sign addresses of files */
	FLEET_ACCESS_TICKET,  /* proof that a server has issued a ticket; the id is its content */
};
void fleet_access_token(const struct fleet *fleet, const char *id, enum fleet_access access,
                        char ret[FLEET_ACCESS_TOKEN_SIZE + 1]);
/* Whether a caller without a key may reach a port of the sandbox: every port with
 * SANDBOX_PORTS_OPEN; with SANDBOX_PORTS_GUARDED those for which it has the traffic token.
 * ERROR_UNAUTHENTICATED if the ports are shown as previews only. */
MUST_CHECK int fleet_access_port(const struct fleet *fleet, const struct sandbox_record *r,
                                 struct span token, struct error *err);
/* Takes the same time for every wrong token of the right size. */
bool fleet_access_check(const struct fleet *fleet, const char *id, enum fleet_access access,
                        struct span token);
