/* SPDX-License-Identifier: Apache-2.0 */
/* signature/signature.h — signs requests to services of AWS, and to servers that speak as they do:
 * Signature Version 4 (AWS General Reference, "Signature Version 4 signing process").
 *
 * S3 signs the path as it is sent. Every other service removes empty and dot segments from it and
 * encodes each segment once more; libcurl's own signer does not. The caller encodes path and query
 * with signature_encode, so that what is sent and what is signed are the same text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/bytes.h"

#define SIGNATURE_HEADERS_MAX 32
#define SIGNATURE_UNSIGNED "UNSIGNED-PAYLOAD" /* hash of a body that is not known yet; S3 */

struct signature_key {
	const char *id, *secret;
	const char *session_token; /* NULL or "" = none */
};

struct signature_request {
	const char *method;
	const char *host; /* as the Host header has it: with a port that is not the scheme's */
	const char *path; /* "/" first; encoded */
	/* "name=value" parts in any order, joined by '&', encoded; a name without '=' is refused by
	 * the services. NULL or "" = none. */
	const char *query;
	const char *const *headers; /* "Name: value", NULL-terminated: these are signed; or NULL */
	struct span body;
	const char *body_hash; /* hexadecimal, in place of the hash of `body`; or NULL */
	const char *region, *service;
	int64_t unix_ms;
};

/* Adds to `ret` the header lines that the request needs besides its own, NULL-terminated: date,
 * hash of the body, session token, authorization. The texts are in the arena. ERROR_INVALID for a
 * header line without a colon, or for more than SIGNATURE_HEADERS_MAX. */
MUST_CHECK int signature_sign(struct arena *a, const struct signature_key *key,
                              const struct signature_request *request,
                              const char *ret[SIGNATURE_HEADERS_MAX], struct error *err);
/* Percent-escapes all but unreserved characters, with capital digits; a path keeps its slashes. */
void signature_encode(struct buf *out, struct span text, bool is_path);
