/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "json/json.h"
#include "sign_in/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A token, a NUL, and the provider's set of keys. No input is signed, so none is accepted. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = {0};
	struct span keys = {(const char *)data, size}, token;
	struct claims_wanted wanted = {.issuer = "i", .client_id = "c", .nonce = "n", .now = 1};
	const struct json_value *claims;
	struct error err;
	bool unknown_key;

	(void)span_split(&keys, '\0', &token);
	if (json_load(&arena, keys, &wanted.keys, &err) < 0)
		wanted.keys = NULL;
	if (claims_read(&arena, token, &wanted, &claims, &unknown_key, &err) == 0)
		abort();
	return 0;
}
