/* SPDX-License-Identifier: Apache-2.0 */
/* launch/launch.h — the program atoll-launch, which keeps every privilege.
 *
 * `atoll-launch DATA AGENT TASK IMAGE BROKER [ARGUMENT…]` makes a mount namespace for Atoll's own
 * mounts and splits in two: one process becomes the broker (BROKER with the arguments) with few
 * capabilities, the other serves the broker's requests (wire/launch.h) until the broker ends. It
 * has no state but what it opened at its start. */
#pragma once

/* The whole program; returns the exit status. */
int launch_main(int argc, char **argv);
