/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/soon.h — work for a fleet that the caller's thread must not do or wait for. */
#pragma once

struct fleet;

/* Lets a slow worker call `run`. If all are busy nothing is queued: the next tick has to do the
 * same work. */
void fleet_run_soon(struct fleet *f, void (*run)(struct fleet *f));
