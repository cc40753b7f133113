/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/snapshot_mark.h — the link "snapshot" in a run folder: a snapshot is being taken.
 *
 * The mark exists while the sandbox's processes are held, so that the next broker thaws them. It
 * says "switching" for the millisecond in which the root is replaced: if the broker dies just then,
 * the next one kills the processes, and no file is lost. */
#pragma once

#include <stdbool.h>

struct sandbox;

#define SNAPSHOT_MARK "snapshot"
#define SNAPSHOT_FROZEN "frozen"
#define SNAPSHOT_PAUSED "paused" /* the caller had paused it, and it stays paused */
#define SNAPSHOT_SWITCHING "switching"

/* Ends the hold of a snapshot that was cut short. False: the sandbox was between two roots and was
 * killed. */
bool sandbox_release_snapshot(struct sandbox *sandbox, int run_folder);
