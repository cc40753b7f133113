/* SPDX-License-Identifier: Apache-2.0 */
/* console/marks.h — one stream of a console, taken apart as it comes. Part of the folder's
 * contract; pure.
 *
 * A mark is RS "atoll:" KIND ":" ID ":" TEXT LF:
 *
 *   D  a command comes; TEXT is the folder of its pipe
 *   B  the command ID begins; TEXT is the command, in hexadecimal, cut to CONSOLE_TOLD_MAX
 *   E  it has ended; TEXT is its exit code
 *
 * Everything else is output, and what looks like a mark and is none is, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/span.h"

#define MARK_TEXT_MAX ((size_t)12 * 1024)

enum mark_kind { MARK_FOLDER = 'D', MARK_BEGIN = 'B', MARK_END = 'E' };
struct mark {
	enum mark_kind kind;
	char id[ID_SIZE + 1]; /* "" of MARK_FOLDER */
	struct span text;
	int64_t exit_code; /* MARK_END */
};
struct marks_ops {
	void (*on_bytes)(void *context, struct span bytes);
	void (*on_mark)(void *context, const struct mark *mark);
};
struct marks {
	const struct marks_ops *ops;
	void *context;
	struct buf held; /* what may become a mark */
};
void marks_init(struct marks *m, const struct marks_ops *ops, void *context);
void marks_done(struct marks *m); /* zeroed is fine */
void marks_add(struct marks *m, struct span bytes);
/* No more will come: what was held is output. */
void marks_end(struct marks *m);
