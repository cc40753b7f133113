/* SPDX-License-Identifier: Apache-2.0 */
/* provider/shared.h — providers whose sandboxes every server on one store may work on.
 *
 * A kind with provider_ops.is_shared keeps all that it knows of a sandbox at its service, nothing
 * in the data folder: the sandbox's row may move to another server at any time
 * (fleet/core/takeover.h). So an open provider serves each sandbox that the service has under
 * provider_shared_id, whichever server made it. Several servers may hold such a provider open at
 * once. */
#pragma once

#include "base/id.h"

#define PROVIDER_SHARED_KEY_SIZE 32

/* The same in all servers on one store. */
struct provider_shared {
	unsigned char key[PROVIDER_SHARED_KEY_SIZE]; /* only these servers know it */
};
/* What labels at the service say instead of a server's id: one for each provider of a store, named
 * by the configuration. It says nothing about the key. */
void provider_shared_id(const struct provider_shared *shared, const char *name,
                        char ret[ID_SIZE + 1]);
