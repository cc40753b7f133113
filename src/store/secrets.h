/* SPDX-License-Identifier: Apache-2.0 */
/* store/secrets.h — values that the database holds encrypted: environments of sandboxes, templates
 * and configs, and what webhooks are signed with. Part of store.h.
 *
 * They are sealed when they are written and opened when they are read, so that records have them in
 * plain; an empty one is neither. One that cannot be opened, as its key is not known, stays sealed
 * in its record, and who uses it asks. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct seal;
struct store;

/* Before the store is used; `seal` outlives it. Without, values are stored in plain. */
void store_seal(struct store *s, struct seal *seal);
/* ERROR_UNAVAILABLE when it is still sealed. */
MUST_CHECK int store_secret_check(const char *text, struct error *err);
/* The environment of a sandbox as its row holds it: sealed, and good for no other row. "" when
 * there is something to seal and no key for it. For a place outside of the store; a row that is
 * made with it is read as any other. */
const char *store_template_env_close(const struct store *s, struct arena *a,
                                     const char *template_id, const char *env_json);
const char *store_sandbox_env_close(const struct store *s, struct arena *a, const char *sandbox_id,
                                    const char *env_json);
/* Changes when values are sealed anew, under another key. "" without keys. */
const char *store_secret_prefix(const struct store *s, struct arena *a);
/* Brings all that is plain or under an older key under the one in use. *ret_shut: how many could
 * not be opened, and are as they were. */
MUST_CHECK int store_secrets_reseal(struct store *s, uint64_t *ret_resealed, uint64_t *ret_shut,
                                    struct error *err);
/* Under a new key; older ones are forgotten afterwards, but for the last. What is killed half-way
 * has lost nothing, and is finished by the next reseal. */
MUST_CHECK int store_secrets_rotate(struct store *s, uint64_t *ret_resealed, struct error *err);
