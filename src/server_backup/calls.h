/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/calls.h — calls to the server that runs, with its first key. Private to this
 * folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct http_client;

struct server_calls {
	struct arena *arena;
	struct http_client *client; /* NULL: no server runs */
	int lock_fd;                /* then the lock of the data folder, so that none starts */
	const char *notes;          /* file with the snapshots that a backup has made */
};
/* Finds the server of the data folder, or keeps one from starting. ERROR_CONFLICT: sandboxes may
 * run without it. */
MUST_CHECK int server_calls_open(struct server_calls *c, const char *data_dir, struct error *err);
void server_calls_close(struct server_calls *c);

struct backed_sandbox {
	const char *id, *project;
};
/* *ret: "started", "paused", …; "" = there is no such sandbox any more. */
MUST_CHECK int server_calls_state(struct server_calls *c, const struct backed_sandbox *s,
                                  const char **ret, struct error *err);
/* Makes the sandbox's files a layer; *ret_id is its id. Noted first, so that the next backup
 * removes it if this one is killed. */
MUST_CHECK int server_calls_snapshot(struct server_calls *c, const struct backed_sandbox *s,
                                     const char **ret_id, struct error *err);
/* Removes all snapshots that are noted, of this backup and of killed ones. */
MUST_CHECK int server_calls_forget_snapshots(struct server_calls *c, struct error *err);
/* Pauses a running sandbox. *ret_paused: it ran, and server_calls_resume is for it. */
MUST_CHECK int server_calls_pause(struct server_calls *c, const struct backed_sandbox *s,
                                  bool *ret_paused, struct error *err);
/* *ret_kept: it stayed paused meanwhile. */
MUST_CHECK int server_calls_resume(struct server_calls *c, const struct backed_sandbox *s,
                                   bool *ret_kept, struct error *err);
