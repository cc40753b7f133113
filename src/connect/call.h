/* SPDX-License-Identifier: Apache-2.0 */
/* connect/call.h — private: calls to an OAuth service. Each blocks for ten seconds at most. No
 * error has a secret of the call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "connect/service.h"

struct oauth_client {
	const char *id, *secret; /* secret "" or NULL: a public client */
};
struct oauth_caller {
	const struct config *config;
	struct arena *arena;
	const struct connect_service *service;
	struct oauth_client client;
};
struct oauth_field {
	const char *name, *value; /* value NULL: left out */
};

/* The answer of a service. */
struct oauth_answer {
	int status;
	const char *code;              /* of its error; NULL: none */
	const struct json_value *body; /* NULL: it is no JSON */
};
/* Sends fields, ended by a name NULL, with the client's secret. Returns 0 when an answer came. */
MUST_CHECK int oauth_ask(const struct oauth_caller *c, const char *url,
                         const struct oauth_field *fields, struct oauth_answer *ret,
                         struct error *err);

struct oauth_tokens {
	const char *access, *refresh, *scope; /* refresh, scope: NULL = none */
	int64_t expires_in_ms;                /* 0 = not told */
};
/* Asks for tokens. *ret_code: the service's own word for a refusal, or NULL: it gave no answer. */
MUST_CHECK int oauth_ask_tokens(const struct oauth_caller *c, const struct oauth_field *fields,
                                struct oauth_tokens *ret, const char **ret_code, struct error *err);
/* Makes a token worthless. */
MUST_CHECK int oauth_revoke(const struct oauth_caller *c, const char *token, struct error *err);
