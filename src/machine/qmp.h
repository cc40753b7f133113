/* SPDX-License-Identifier: Apache-2.0 */
/* machine/qmp.h — commands to QEMU's monitor (QMP). Private to this folder. */
#pragma once

#include "base/bytes.h"

struct json_value;

struct qmp {
	int fd;
	int64_t deadline;
	struct buf in;
};

/* Waits until QEMU listens at `path`. */
MUST_CHECK int qmp_open(struct qmp *q, const char *path, int64_t deadline, struct error *err);
void qmp_close(struct qmp *q);
/* `text` is a whole command: {"execute": …}. The descriptor goes with it; -1: none. Events are
 * skipped. */
struct qmp_command {
	const char *text;
	int fd;
};
MUST_CHECK int qmp_call(struct qmp *q, struct arena *a, const struct qmp_command *command,
                        const struct json_value **ret, struct error *err);
