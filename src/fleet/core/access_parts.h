/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/access_parts.h — the key of access tokens. */
#pragma once

struct fleet;

/* Reads the key from the store, or makes it. If the store fails, tokens are valid until this
 * process ends. */
void access_open(struct fleet *f);
