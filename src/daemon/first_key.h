/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/first_key.h — the key of DATA/admin.key in the store. Private to this folder. */
#pragma once

#include "store/store.h"

/* Makes the project "default" and the key's row where they are missing; `fd` is the open file. */
MUST_CHECK int first_key_register(struct store *store, int fd, struct error *err);
