/* SPDX-License-Identifier: Apache-2.0 */
/* connect/connect.h — logins at OAuth services, whose tokens become a credential of the kind
 * "oauth" (store/credentials.h).
 *
 *   code    the user goes to the service's page and comes back with a code (PKCE)
 *   device  the user types a code at the service's page, on any device
 *   client  no user: the application itself gets a token
 *
 * The application is a credential of the kind "client"; its hosts must have the service's host, so
 * its secret goes nowhere else. The refresh token stays in the connect: rules of sandboxes cannot
 * name it. A thread renews tokens five minutes before their end. All calls block; any thread but
 * the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/credential.h"
#include "store/connects.h"

struct arena;
struct config;
struct store;

struct connect_context {
	const struct config *config;
	struct store *store;
	struct arena *arena;
};

struct connect_request {
	const char *project_id, *owner_id; /* owner "" = the project */
	const char *name;                  /* of the credential */
	const char *about;
	const char *preset, *issuer; /* at least one; the issuer's addresses win */
	const char *client;          /* name of the credential of the kind "client" */
	const char *caller;          /* the user whose credentials `client` may name; or "" */
	const char *const *hosts;    /* NULL: those of the preset */
	const char *const *scopes;   /* NULL: those of the preset */
	enum connect_method method;
	enum credential_consent consent;
	const char *redirect_uri; /* of CONNECT_CODE */
	const char *browser;      /* a text that only this browser has; NULL: any may come back */
};
struct connect_begun {
	struct connect_record record;
	const char *url;                                           /* CONNECT_CODE */
	const char *user_code, *verification, *verification_whole; /* CONNECT_DEVICE */
};
MUST_CHECK int connect_begin(const struct connect_context *c, const struct connect_request *request,
                             struct connect_begun *ret, struct error *err);

/* The query of the address that the service sends the browser to; NULL: absent. */
struct connect_return {
	const char *code, *state, *issuer, *error;
	const char *browser; /* the text that this browser has; NULL: none */
};
/* Exchanges the code. An answer is accepted once. */
MUST_CHECK int connect_finish(const struct connect_context *c, const struct connect_return *answer,
                              struct connect_record *ret, struct error *err);

/* Revokes the tokens at the service and removes connect and credential. `is_forced`: removes them
 * even if the service does not revoke. */
MUST_CHECK int connect_remove(const struct connect_context *c, const struct connect_record *r,
                              bool is_forced, struct error *err);

struct connects;
/* Starts the threads that renew tokens and wait for devices. */
MUST_CHECK int connects_open(const struct config *config, struct store *store,
                             struct connects **ret, struct error *err);
void connects_close(struct connects *c); /* NULL is fine */
