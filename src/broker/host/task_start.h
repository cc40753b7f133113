/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/task_start.h — lets atoll-launch start atoll-task (task/task.h), the program that
 * works on the files of sandboxes with less privilege.
 *
 * A process of its own does each task. It has only the capabilities of its kind, a system-call
 * filter, a mount namespace that shows the data folder or /proc alone (or the host, to read), and
 * no descriptor but its output and the socket for its report. When it is killed, its task has
 * failed. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "broker/host/child.h"
#include "wire/launch.h"

struct host;
struct task_result;

struct task_command {
	enum task_kind kind;
	bool is_idle; /* with the lowest priority */
	int input_fd; /* becomes TASK_INPUT_FD; 0: none */
	unsigned count;
	const char *words[LAUNCH_WORDS_MAX]; /* as task/kinds.h says */
};

struct broker_task {
	struct broker_child child; /* its on_end is the owner's */
	int report_fd;             /* -1: none */
};

/* Starts the task; the loop calls child.on_end when it has ended. */
MUST_CHECK int task_start(const struct host *host, struct events *events, struct broker_task *task,
                          const struct task_command *command, struct error *err);
/* In on_end: what the task has reported. ERROR_SYSTEM: it was killed. `ret` may be NULL. */
MUST_CHECK int task_take_report(struct broker_task *task, struct task_result *ret,
                                struct error *err);
/* Kills the task; on_end is not called. Does nothing when it does not run. */
void task_cancel(struct broker_task *task);
/* Waits until the task has ended. Only in children of the broker with a channel of their own, and
 * when the broker starts or ends. `ret` may be NULL. */
MUST_CHECK int task_run(const struct host *host, const struct task_command *command,
                        struct task_result *ret, struct error *err);

/* The same in two steps, so that the process is there before something has to be quick. The process
 * ends with the caller at the latest. */
struct task_process {
	int report_fd; /* -1: none */
};
MUST_CHECK int task_begin(const struct host *host, const struct task_command *command,
                          struct task_process *ret, struct error *err);
MUST_CHECK int task_wait_ready(const struct task_process *process, struct error *err);
/* Tells the process to go on, and waits for its report. */
MUST_CHECK int task_ask(struct task_process *process, struct task_result *ret, struct error *err);
