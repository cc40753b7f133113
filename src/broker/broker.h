/* SPDX-License-Identifier: Apache-2.0 */
/* broker/broker.h — the process that makes and ends sandboxes for atolld, over wire/broker.h.
 *
 * Root with few capabilities, single-threaded; no JSON, and no trust in atolld: every field is
 * checked again (check.c), names never become paths without a rule. atoll-launch, which starts it,
 * does what needs more (host/launcher.h), and processes of atoll-task work on files of sandboxes
 * (host/task_start.h). It listens on DATA/run/broker.sock for
 * processes of atolld's user. It may be killed at any time: what it makes has its final name only
 * when it is whole, and the next start sweeps whatever has none. Sandboxes live on without it. */
#pragma once

/* The whole program; returns the exit status. SIGTERM ends it and touches no sandbox. */
int broker_main(int argc, char **argv);
