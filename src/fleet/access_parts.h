/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/access_parts.h — access.c, for fleet.c. Private to this folder. */
#pragma once

struct fleet;

/* Reads the key, or makes it. When the store cannot tell it, tokens are good until this process
 * ends. */
void access_open(struct fleet *f);
