/* SPDX-License-Identifier: Apache-2.0 */
/* connect/service.h — an OAuth service: its addresses, and what it does differently from the
 * standards. A preset or the service's own metadata (RFC 8414) gives them. */
#pragma once

#include "base/error.h"
#include "json/json.h"

struct arena;
struct config;

enum oauth_auth { SERVICE_BASIC, SERVICE_POST }; /* how the client's secret is sent */
enum oauth_body { SERVICE_FORM, SERVICE_JSON };
enum oauth_revoke_style { REVOKE_STANDARD, REVOKE_GITHUB, REVOKE_BEARER };
enum oauth_pkce { PKCE_ON, PKCE_OFF };
struct connect_service {
	const char *issuer;                              /* checked in answers, if it is known */
	const char *authorize, *token, *device, *revoke; /* NULL: it has none */
	const char *extra;                               /* of the address of its page: "a=b&c=d" */
	const char *scope_separator;                     /* NULL = a blank */
	int client_auth, body, revoke_style, pkce;
	const char **scopes; /* if none are asked for */
};
extern const struct json_shape connect_service_shape;

/* Reads the metadata of an issuer. Blocks. */
MUST_CHECK int service_discover(const struct config *config, struct arena *a, const char *issuer,
                                struct connect_service *ret, struct error *err);
/* Refuses addresses that are not https, or that are of the server's own network; the option
 * webhook_allow_private allows both. */
MUST_CHECK int service_check(const struct config *config, const struct connect_service *service,
                             struct error *err);
/* The host of a URL, in the arena. */
const char *service_host(struct arena *a, const char *url);
