/* SPDX-License-Identifier: Apache-2.0 */
/* wire/task.h — what the broker and the program atoll-task say to each other.
 *
 * The broker starts one process for each task: `atoll-task KIND WORD…` (broker/host/task_start.h).
 * TASK_REPORT_FD is a SOCK_SEQPACKET socket for one report, and TASK_INPUT_FD what some tasks read.
 */
#pragma once

#include "wire/launch.h"
#include "wire/wire.h"

#define TASK_REPORT_FD 3
#define TASK_INPUT_FD 4
/* types of frames */
#define TASK_REPORT 1
#define TASK_READY 2 /* a task that was started early … */
#define TASK_GO 3    /* … goes on */

#define LAUNCH_WORDS_SIZE 8192
#define LAUNCH_NO_PROGRAM 127 /* exit status of TASK_NFT when the program is missing */

/* LAUNCH_TASK: the program is a child of the process that serves the channel, and ends with
 * it. */
struct launch_task {
	uint32_t kind;                        /* enum task_kind */
	uint32_t is_idle;                     /* with the lowest priority */
	uint32_t places[LAUNCH_TASK_FDS_MAX]; /* the number of each descriptor in the program */
	uint32_t count;
	char words[LAUNCH_WORDS_SIZE]; /* each ends with a zero byte */
};

/* The result of a task. */
struct task_result {
	uint64_t bytes; /* of blocks; a file with several names counts once */
	uint64_t entries;
	uint32_t is_partial; /* there is more */
	uint64_t root_mount; /* number of a sandbox's root mount */
};
struct task_report {
	uint32_t code; /* enum error_code; ERROR_NONE: done */
	uint32_t sys_errno;
	const char *text;
	const char *hint;
	struct task_result result;
};
extern const struct wire_member task_report_shape[];

/* Sends a frame without a payload. */
MUST_CHECK int task_send_word(int fd, uint16_t type, struct error *err);
