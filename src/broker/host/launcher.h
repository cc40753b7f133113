/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/launcher.h — asks atoll-launch, the program with full privilege, for what the broker
 * may not do itself (wire/launch.h).
 *
 * A call waits for the answer. The main channel is the broker's alone, for what takes microseconds.
 * A child of the broker gets a channel of its own: the broker opens it before it forks. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/launch.h"
#include "wire/wire.h"

struct host;

/* Takes the main channel, with which atoll-launch has started this process. */
MUST_CHECK int launcher_open(struct host *host, struct error *err);
struct launcher_result {
	struct launch_answer answer;
	struct wire_fds fds; /* the caller's */
};
/* `request` is the struct of that kind, NULL: it has none. `fds` and `ret` may be NULL. Fails with
 * the server's error, and with ERROR_UNAVAILABLE when there is no server any more; `ret` then has
 * the answer without descriptors, or zeros. */
MUST_CHECK int launcher_call(const struct host *host, enum launch_kind kind, const void *request,
                             const struct wire_fds *fds, struct launcher_result *ret,
                             struct error *err);
/* The same for an answer with one descriptor. */
MUST_CHECK int launcher_open_fd(const struct host *host, enum launch_kind kind, const void *request,
                                const struct wire_fds *fds, int *ret_fd, struct error *err);
/* A channel for a child that the caller is about to fork; the caller closes its own copy. */
MUST_CHECK int launcher_channel(const struct host *host, int *ret_fd, struct error *err);
/* In that child: its calls go to this channel instead of the main one. */
MUST_CHECK int launcher_use(const struct host *host, int channel_fd, struct error *err);

/* A file or namespace of any process. */
MUST_CHECK int launcher_file(const struct host *host, pid_t pid, enum launch_file file, int *ret_fd,
                             struct error *err);
/* Waits for the end of an agent, or of a program that was started on this channel. All zeros when
 * it is not a child of atoll-launch: then another process reaps it. */
void launcher_reap(const struct host *host, int pidfd, siginfo_t *ret);

/* A program that atoll-launch starts with the privileges of its kind (launch/task.c), with no
 * descriptor but its output and these. */
struct program {
	enum task_kind kind;
	bool is_idle; /* with the lowest priority */
	unsigned count;
	const char *const *words;
	struct wire_fds fds;
	uint32_t places[LAUNCH_TASK_FDS_MAX]; /* their numbers in the program */
};
void program_hand_on(struct program *program, int fd, unsigned place);
/* It ends with the process that serves this channel, that is with the calling process. */
MUST_CHECK int program_start(const struct host *host, const struct program *program, pid_t *ret_pid,
                             int *ret_pidfd, struct error *err);
