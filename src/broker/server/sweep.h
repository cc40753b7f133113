/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/sweep.h — removes what has no living owner.
 *
 * Every name on the host derives from a slot, so listing names finds all that an earlier broker
 * left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct broker;

/* At start: removes everything on this host that is in our chunks and has no living owner. */
void broker_sweep(struct broker *b);
/* For struct slots; `context` is the broker. */
bool chunk_is_alive(void *context, uint32_t first_slot);
void chunk_on_claim(void *context, uint32_t first_slot);
