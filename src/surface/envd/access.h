/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/access.h — signed URLs of files. Pure.
 *
 * A signature is "v1_" and the SHA-256 of "path:operation:user:token[:expiration]" in base64
 * without padding. A client that has the sandbox's token signs a URL for one path and one
 * operation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct signed_file {
	const char *path;       /* as the query has it; "" = not given */
	const char *operation;  /* "read" or "write" */
	const char *user;       /* as the query has it; "" = not given */
	const char *expiration; /* as the query has it, unix seconds; NULL = never */
};
#define SIGNATURE_SIZE 47 /* with its NUL */
void signature_make(const struct signed_file *file, const char *token, char ret[SIGNATURE_SIZE]);
/* Whether `token` made the signature. The comparison takes constant time. */
bool signature_matches(const struct signed_file *file, const char *token, struct span signature);
/* ERROR_UNAUTHENTICATED if the signature has expired. */
MUST_CHECK int signature_check_time(const struct signed_file *file, int64_t now_s,
                                    struct error *err);
