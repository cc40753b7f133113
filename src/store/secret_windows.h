/* SPDX-License-Identifier: Apache-2.0 */
/* store/secret_windows.h — terminal windows that were opened with values of credentials in their
 * environment: which window, for which conversation, by which consent.
 *
 * A row is written before the value leaves the server, and removed when the window has ended. So a
 * server that is killed in between knows at least of every window that has a value. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct store;

#define SECRET_WINDOW_START_MS 30000   /* from the row to the end of the window's start, at most */
#define SECRET_WINDOW_OPENING_MS 60000 /* so long a row stays without a window */

struct secret_window {
	const char *sandbox_id, *name, *consent_id;
	const char *conversation_id, *key_id; /* of the call that opened it */
	int64_t created_at;
	int64_t holding; /* 0: its consent has ended, or the credential has changed */
};
struct secret_window_list {
	struct secret_window *items;
	size_t count;
};

MUST_CHECK int store_secret_window_insert(struct store *s, const struct secret_window *w,
                                          struct error *err);
MUST_CHECK int store_secret_window_list(struct store *s, struct arena *a, const char *sandbox_id,
                                        int64_t now, struct secret_window_list *ret,
                                        struct error *err);
/* Those of a server's sandboxes that are started, or have ended; sorted by sandbox and name. */
MUST_CHECK int store_secret_window_list_of_node(struct store *s, struct arena *a, const char *node,
                                                int64_t now, struct secret_window_list *ret,
                                                struct error *err);
/* All rows of the window that are not younger than this one. */
MUST_CHECK int store_secret_window_remove(struct store *s, const struct secret_window *w,
                                          struct error *err);
/* Fails with ERROR_CONFLICT while windows of the sandbox may have values: `what` would keep its
 * memory. */
MUST_CHECK int store_secret_window_refuse(struct store *s, const char *sandbox_id, const char *what,
                                          struct error *err);
