/* SPDX-License-Identifier: Apache-2.0 */
/* credential/sender.h — the api process's end of the credential proxy: keeps the sets of all
 * sandboxes of this server, and sends them again whenever the proxy was restarted. Any thread.
 *
 * After its start the api process puts the set of every sandbox that has rules, and then calls
 * credential_sender_settle once: sets of sandboxes that were deleted meanwhile are removed. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct credential_set;
struct credential_sender;

/* `path` of the proxy's socket (DATA/run/credentials.sock); "": there is no proxy, and every put
 * fails with ERROR_UNSUPPORTED. Starts a thread. */
MUST_CHECK int credential_sender_new(const char *path, struct credential_sender **ret,
                                     struct error *err);
void credential_sender_free(struct credential_sender *sender); /* NULL is fine */

/* Returns when the proxy uses the set: no request after it sees the old one. Does nothing when the
 * proxy has the same set. ERROR_INVALID when the proxy refuses the set, which then stays as it was;
 * ERROR_UNAVAILABLE when the proxy does not answer: the set is sent once it does. */
MUST_CHECK int credential_sender_put(struct credential_sender *sender,
                                     const struct credential_set *set, struct error *err);
/* Returns when the sandbox's connections are ended and its values forgotten. Nothing to remove is
 * no failure. */
MUST_CHECK int credential_sender_remove(struct credential_sender *sender, const char *sandbox,
                                        struct error *err);
MUST_CHECK int credential_sender_settle(struct credential_sender *sender, struct error *err);

/* What the proxy held when it was last asked; all 0 before, and while it is away. */
struct credential_usage {
	uint64_t sandboxes, connections;
	uint64_t memory, memory_largest; /* bytes, of all sandboxes and of the one with most */
	uint64_t refused; /* connections of sandboxes that were over a limit, since its start */
};
/* Asks the proxy, if there is a connection to it; may wait for it. */
void credential_sender_measure(struct credential_sender *sender);
/* Waits for nothing. */
struct credential_usage credential_sender_usage(struct credential_sender *sender);
