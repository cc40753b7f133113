/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/first_key.h — registers the key of DATA/admin.key in the store. */
#pragma once

#include "base/error.h"

struct store;

/* Creates the project "default" and the key's row if they are missing; `fd` is the open file. */
MUST_CHECK int first_key_register(struct store *store, int fd, struct error *err);
