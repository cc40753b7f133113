/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle of certificates that a sandbox has. The new one ends with the authority, the rest of
 * it is a part of the old one, and a second time nothing changes. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "credential/authority.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "Atoll sandbox " */
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nQXRvbGwgc2FuZGJveCA=\n-----END CERTIFICATE-----\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf once = BUF(CREDENTIAL_BUNDLE_MAX);
	AUTO(buf_done) struct buf twice = BUF(CREDENTIAL_BUNDLE_MAX);
	size_t end = strlen(CERTIFICATE);

	credential_bundle_update(&once, (struct span){(const char *)data, size}, CERTIFICATE);
	assert(!once.overflowed && once.size >= end && once.size <= size + 1 + end);
	assert(memcmp(once.data + once.size - end, CERTIFICATE, end) == 0);
	credential_bundle_update(&twice, buf_span(&once), CERTIFICATE);
	assert(span_equals(buf_span(&once), buf_span(&twice)));
	return 0;
}
