/* SPDX-License-Identifier: Apache-2.0 */
/* config/mask.h — values as people may see them. Private to this folder. */
#pragma once

#include "base/buf.h"

#define MASK "****"

/* A database's address with asterisks for its password and every setting that might be one. */
void mask_store(struct buf *out, const char *value);
/* All of it. */
void mask_secret(struct buf *out, const char *value);
