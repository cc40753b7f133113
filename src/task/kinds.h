/* SPDX-License-Identifier: Apache-2.0 */
/* task/kinds.h — the kinds of tasks. The working folder is the data folder, and all that there is
 * to see; for task_users it is /proc, and tasks on images see the host and can write nothing of it.
 */
#pragma once

#include "base/error.h"

struct task_report;

typedef int run_task(char **words, struct task_report *report, struct error *err);

/* For tasks that are started early: says that it is ready, and waits until the broker says to go
 * on. */
MUST_CHECK int task_wait(struct error *err);

/* DEADLINE_MS PATH [PATH]: measures both; the second may be missing. */
MUST_CHECK int task_measure(char **words, struct task_report *report, struct error *err);
/* Empties the trash, but for what can be brought back; measures that for a few seconds. */
MUST_CHECK int task_trash(char **words, struct task_report *report, struct error *err);
/* ID LAYER…: merges the layers, the topmost first, into the new layer ID. */
MUST_CHECK int task_merge(char **words, struct task_report *report, struct error *err);
/* PID MOUNTS_INODE: waits until the processes of this sandbox are held, and looks whether one of
 * them uses anything of the root but "/". ERROR_CONFLICT names the first. TASK_INPUT_FD lists them.
 */
MUST_CHECK int task_users(char **words, struct task_report *report, struct error *err);
/* BYTES OWNER JOURNAL: makes an ext4 filesystem in the empty file TASK_INPUT_FD. */
MUST_CHECK int task_image_make(char **words, struct task_report *report, struct error *err);
/* BYTES DEADLINE_MS: waits until nothing of the image TASK_INPUT_FD is mounted, and lets it grow.
 */
MUST_CHECK int task_image_grow(char **words, struct task_report *report, struct error *err);
/* "dev", "sys" or "host": fills the file system TASK_INPUT_FD, which sandboxes will share. */
MUST_CHECK int task_fill(char **words, struct task_report *report, struct error *err);
/* Tries whether the memory of processes can be kept (isolation/checkpoint.h). */
MUST_CHECK int task_memory(char **words, struct task_report *report, struct error *err);
/* FROM TO TIME_MS: waits as task_users, and copies the folder FROM into the empty folder TO. */
MUST_CHECK int task_copy(char **words, struct task_report *report, struct error *err);
