/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/failed.h — removes what has failed and that no caller has looked after for `failed_keep`:
 * sandboxes, templates and backups in state "failed". Private to this folder.
 *
 * A failed sandbox keeps its row, and with it the row that says what it lies on (snapshot_bases).
 * It is deleted as by DELETE, so that its event is told and the purge of deleted rows takes both
 * rows away a day later. It stays while the provider or the blob store has files of it, or while
 * neither can be asked. Default templates stay: the next create builds them again. */
#pragma once

#include "fleet/fleet.h"

/* In each sweep, at most FAILED_AT_ONCE of each kind. A failure is only logged. */
#define FAILED_AT_ONCE 32
void failed_tick(struct fleet *f);
