/* SPDX-License-Identifier: Apache-2.0 */
/* seal/seal.h — texts that are encrypted where they rest: XChaCha20-Poly1305 with keys from a file.
 *
 * A sealed text is a JSON text itself, "sealed.KEY.BASE64" with its quotes, so that a column of
 * JSON may hold either. It names its key, and it opens only for what it was bound to: moved to
 * another row it does not. The file has a line "KEY HEX" per key, mode 0600; new texts are sealed
 * with the first, the others open older ones. Servers that share a database share the file: it is
 * looked at again when it has changed. Any thread may call. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct seal;

/* Makes the file with a new key when it is not there. */
MUST_CHECK int seal_open(const char *path, struct seal **ret, struct error *err);
void seal_close(struct seal *s); /* NULL is fine */

bool seal_is_sealed(const char *text);
/* Whether it is sealed with the key that is used now. */
bool seal_is_current(struct seal *s, const char *text);
/* What sealed texts of the key that is used now begin with; in the arena. */
const char *seal_prefix(struct seal *s, struct arena *a);
/* `bound`: what it belongs to. */
const char *seal_close_text(struct seal *s, struct arena *a, const char *bound, const char *text);
/* ERROR_UNAVAILABLE when the key is not known, ERROR_SYSTEM when it was changed or moved. */
MUST_CHECK int seal_open_text(struct seal *s, struct arena *a, const char *bound,
                              const char *sealed, const char **ret, struct error *err);

/* Of all servers with this file one may rotate: ERROR_CONFLICT while another does. Ends when
 * *ret_fd is closed, and with the process. */
MUST_CHECK int seal_begin_rotation(struct seal *s, int *ret_fd, struct error *err);
/* A new key, which is used from then on; it is in the file when this returns. The others stay. */
MUST_CHECK int seal_add_key(struct seal *s, struct error *err);
/* Drops all keys but the one in use and the one before it: with that, another server may just have
 * sealed something. Call it when nothing is sealed with older ones. */
MUST_CHECK int seal_drop_keys(struct seal *s, struct error *err);
