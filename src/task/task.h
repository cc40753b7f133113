/* SPDX-License-Identifier: Apache-2.0 */
/* task/task.h — the program atoll-task: works on files of sandboxes for the broker, with a few
 * capabilities.
 *
 * One process does one task and ends. The broker starts it in a mount namespace whose root is the
 * data folder, with the capabilities that this kind of task needs (broker/host/task_start.h). It
 * has no connection but the socket for its report. It may be killed at any time: what it has made
 * is named by nothing, and the broker removes it. */
#pragma once

/* The whole program; returns the exit status. */
int task_main(int argc, char **argv);
