/* SPDX-License-Identifier: Apache-2.0 */
/* credential/sender.h — the api process's end of the credential proxy: keeps the sets of all
 * sandboxes of this server, and sends them again whenever the proxy was restarted. Any thread.
 *
 * After its start the api process puts the set of every sandbox that has rules, and then calls
 * credential_sender_settle once: sets of sandboxes that were deleted meanwhile are removed. */
#pragma once

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
