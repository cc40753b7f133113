/* SPDX-License-Identifier: Apache-2.0 */
/* connect/state.h — private: what the rows of store/connects.h hold as JSON, and the step from
 * tokens to a credential. */
#pragma once

#include "connect/call.h"
#include "connect/connect.h"
#include "json/json.h"

#define RENEW_BEFORE_MS (INT64_C(300) * 1000)

/* connect_record.request_json */
struct connect_wish {
	const char *about;
	const char **hosts;
	int consent;
};
extern const struct json_shape connect_wish_shape;

/* connect_record.secret_json */
struct connect_secret {
	const char *client_id, *client_secret, *verifier, *redirect_uri, *browser, *device_code,
	        *refresh_token;
};
extern const struct json_shape connect_secret_shape;

/* A row with its JSON read. */
struct connect_parts {
	struct connect_service service;
	struct connect_wish wish;
	struct connect_secret secret;
};
/* begin.c: hexadecimal SHA-256 of a state. */
const char *connect_hash_state(struct arena *a, const char *state);
/* answer.c */
MUST_CHECK int connect_read_parts(struct arena *a, const struct connect_record *r,
                                  struct connect_parts *ret, struct error *err);
const char *connect_write_shape(struct arena *a, const struct json_shape *shape, const void *in);
struct oauth_caller connect_caller(const struct connect_context *c, const struct connect_parts *p);
/* Writes the tokens into the credential and the connect, in one transaction. */
MUST_CHECK int connect_keep_tokens(const struct connect_context *c, struct connect_record *r,
                                   struct connect_parts *p, const struct oauth_tokens *tokens,
                                   struct error *err);
/* renew.c: one look at a due row: waits for a device or renews. */
MUST_CHECK int connect_look(const struct connect_context *c, struct connect_record *r,
                            struct error *err);
