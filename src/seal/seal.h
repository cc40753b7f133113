/* SPDX-License-Identifier: Apache-2.0 */
/* seal/seal.h — texts encrypted at rest: XChaCha20-Poly1305 with keys from a file.
 *
 * A sealed text is itself a JSON text, "sealed.KEY.BASE64" with its quotes, so that a JSON column
 * can hold either. It names its key and is bound to its row: in another row it does not open. The
 * file has a line "KEY HEX" per key and mode 0600. New texts use the first key; the others open
 * older texts. Servers that share a database share the file and reload it when it changes. Any
 * thread may call. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct seal;

/* Creates the file with a new key if it does not exist. */
MUST_CHECK int seal_open(const char *path, struct seal **ret, struct error *err);
void seal_close(struct seal *s); /* may be NULL */

bool seal_is_sealed(const char *text);
/* The prefix of texts sealed with the current key; in the arena. */
const char *seal_prefix(struct seal *s, struct arena *a);
/* Seals a text. `bound` identifies the row that it belongs to. */
const char *seal_close_text(struct seal *s, struct arena *a, const char *bound, const char *text);
/* Opens a sealed text. ERROR_UNAVAILABLE if the key is unknown, ERROR_SYSTEM if the text was
 * changed or moved. */
MUST_CHECK int seal_open_text(struct seal *s, struct arena *a, const char *bound,
                              const char *sealed, const char **ret, struct error *err);

/* 8 digits that tell texts apart and tell nothing about them without the key. */
#define SEAL_FINGERPRINT_SIZE 8
#define SEAL_FINGERPRINT_KEY_SIZE 32
void seal_fingerprint(const unsigned char key[SEAL_FINGERPRINT_KEY_SIZE], const char *bound,
                      const char *text, char ret[SEAL_FINGERPRINT_SIZE + 1]);

/* Begins a rotation: one server with this file at a time, ERROR_CONFLICT for others. Closing
 * *ret_fd or the end of the process ends it. */
MUST_CHECK int seal_begin_rotation(struct seal *s, int *ret_fd, struct error *err);
/* Adds a key, writes the file and makes the key current. Older keys stay. */
MUST_CHECK int seal_add_key(struct seal *s, struct error *err);
/* Drops all keys but the current one and the one before it, which another server may just have
 * used. Call it when no text needs older keys. */
MUST_CHECK int seal_drop_keys(struct seal *s, struct error *err);
