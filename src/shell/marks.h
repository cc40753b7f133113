/* SPDX-License-Identifier: Apache-2.0 */
/* shell/marks.h — splits one output stream of a shell into output and marks, piece by piece. Part
 * of the folder's contract; pure.
 *
 * A mark is RS "atoll:" KIND ":" ID ":" TEXT LF:
 *
 *   D  a command follows; TEXT is the folder of its pipe
 *   B  the command ID begins; TEXT is the command, in hexadecimal, cut to SHELL_TEXT_MAX
 *   E  the command ID has ended; TEXT is its exit code
 *
 * Everything else is output, malformed marks included. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/id.h"

#define MARK_TEXT_MAX ((size_t)12 * 1024)

enum shell_mark_kind { MARK_FOLDER = 'D', MARK_BEGIN = 'B', MARK_END = 'E' };
struct shell_mark {
	enum shell_mark_kind kind;
	char id[ID_SIZE + 1]; /* "" of MARK_FOLDER */
	struct span text;
	int64_t exit_code; /* MARK_END */
};
struct shell_marks_ops {
	void (*on_bytes)(void *context, struct span bytes);
	void (*on_mark)(void *context, const struct shell_mark *mark);
};
struct shell_marks {
	const struct shell_marks_ops *ops;
	void *context;
	struct buf held; /* bytes that may begin a mark */
};
void shell_marks_init(struct shell_marks *m, const struct shell_marks_ops *ops, void *context);
void shell_marks_done(struct shell_marks *m); /* zeroed is fine */
void shell_marks_add(struct shell_marks *m, struct span bytes);
/* The stream has ended: held bytes are output. */
void shell_marks_end(struct shell_marks *m);
