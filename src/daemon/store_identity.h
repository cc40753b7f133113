/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/store_identity.h — what all servers on one store have in common, for providers whose
 * sandboxes every one of these servers may work on. Both parts are made from a key in the store;
 * the id says nothing about the key. */
#pragma once

#include "base/error.h"
#include "provider/shared.h"

struct store;

MUST_CHECK int store_identity_read(struct store *s, struct provider_shared *ret, struct error *err);
