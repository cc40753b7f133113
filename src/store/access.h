/* SPDX-License-Identifier: Apache-2.0 */
/* store/access.h — what the servers of a database sign with. Part of store.h. */
#pragma once

#include "store/store.h"

#define STORE_SERVER_KEY_SIZE 32

/* The one of that name, which is made the first time that anybody asks. It rests encrypted:
 * ERROR_UNAVAILABLE when it cannot be opened. */
MUST_CHECK int store_server_key(struct store *s, const char *name,
                                unsigned char ret[STORE_SERVER_KEY_SIZE], struct error *err);

/* ---- for the store itself ---- */

struct server_key {
	const char *id, *secret; /* hexadecimal */
};
