/* SPDX-License-Identifier: Apache-2.0 */
/* store/secrets.h — encrypted values: environments of sandboxes, templates and configs, and webhook
 * secrets.
 *
 * Values are encrypted when written and decrypted when read, so records hold plain text. Empty
 * values stay empty. A value whose key is unknown stays encrypted in its record; its user must call
 * store_secret_check. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct seal;
struct store;

/* Call it before the store is used; `seal` outlives the store. Without it values are stored in
 * plain. */
void store_seal(struct store *s, struct seal *seal);
/* ERROR_UNAVAILABLE when the value is still encrypted. */
MUST_CHECK int store_secret_check(const char *text, struct error *err);
/* The environment of a template or sandbox as its row stores it: encrypted, and bound to this row.
 * "" when encryption is needed and no key is available. For copies outside the store; a row
 * restored from it reads like any other. */
const char *store_template_env_close(const struct store *s, struct arena *a,
                                     const char *template_id, const char *env_json);
const char *store_sandbox_env_close(const struct store *s, struct arena *a, const char *sandbox_id,
                                    const char *env_json);
/* Changes when values are encrypted under another key. "" without keys. */
const char *store_secret_prefix(const struct store *s, struct arena *a);
/* Encrypts plain values and values under older keys with the current key. *ret_shut: values that
 * could not be decrypted; they are unchanged. */
MUST_CHECK int store_secrets_reseal(struct store *s, uint64_t *ret_resealed, uint64_t *ret_shut,
                                    struct error *err);
/* Encrypts all values under a new key and drops older keys, except the last. A crash in between
 * loses nothing; the next reseal finishes the work. */
MUST_CHECK int store_secrets_rotate(struct store *s, uint64_t *ret_resealed, struct error *err);
