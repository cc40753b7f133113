/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/access.h — signed addresses of files. Private to this folder; pure.
 *
 * "v1_" and the base64 without padding of the SHA-256 of "path:operation:user:token[:expiration]":
 * whoever has a sandbox's token can make one, for one path and one operation. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct signed_file {
	const char *path, *operation, *user; /* as the query has them; "" = not there */
	const char *expiration;              /* the same, unix seconds; NULL = never */
};
#define SIGNATURE_SIZE 47 /* with its NUL */
void signature_make(const struct signed_file *file, const char *token, char ret[SIGNATURE_SIZE]);
/* Whether it is that token's. Takes the same time whatever is wrong with it. */
bool signature_matches(const struct signed_file *file, const char *token, struct span signature);
/* ERROR_UNAUTHENTICATED when its time is over. */
MUST_CHECK int signature_check_time(const struct signed_file *file, int64_t now_s,
                                    struct error *err);
