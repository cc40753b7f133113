/* SPDX-License-Identifier: Apache-2.0 */
/* store/access.h — signing keys that all servers of a database share. */
#pragma once

#include "base/error.h"

struct error;
struct store;

#define STORE_SERVER_KEY_SIZE 32

/* The key with this name; created on first use. Stored encrypted: ERROR_UNAVAILABLE when it cannot
 * be decrypted. */
MUST_CHECK int store_server_key(struct store *s, const char *name,
                                unsigned char ret[STORE_SERVER_KEY_SIZE], struct error *err);
