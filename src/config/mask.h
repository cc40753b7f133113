/* SPDX-License-Identifier: Apache-2.0 */
/* config/mask.h — values without their secrets, for people to read. */
#pragma once

#include "base/bytes.h"

#define MASK "****"

/* Appends a database's address; asterisks hide the password and every setting that may be
 * secret. */
void mask_store(struct buf *out, const char *value);
/* Appends asterisks for the whole value. */
void mask_secret(struct buf *out, const char *value);
