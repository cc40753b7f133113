/* SPDX-License-Identifier: Apache-2.0 */
/* A real broker over a data folder of its own, for as long as a test runs. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct broker_programs {
	const char *broker, *agent, *image, *task, *launch;
};

struct broker_process {
	const struct broker_programs *programs;
	char data[64];
	char socket[96];
	pid_t pid;
};

/* Why no broker can run here, or NULL. */
const char *broker_process_reason(const struct broker_programs *programs);
/* Starts it with secrets in its environment, and returns when its socket is there. */
bool broker_process_start(struct broker_process *b, const struct broker_programs *programs);
/* As a crash would end it; its sandboxes live on. */
void broker_process_kill(struct broker_process *b);
bool broker_process_restart(struct broker_process *b);
/* Ends it and removes the data folder. */
void broker_process_stop(struct broker_process *b);
