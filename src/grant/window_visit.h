/* SPDX-License-Identifier: Apache-2.0 */
/* grant/window_visit.h — private: the windows with values in one sandbox. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct grants;
struct secret_window;

struct window_visit {
	const struct secret_window *rows; /* of one sandbox; at least one */
	size_t count;
	int64_t wait_ms;   /* for the sandbox, in all: its agent may be hostile */
	bool has_answered; /* the visit before */
};
enum window_visit_result {
	WINDOW_ANSWERED,
	WINDOW_SILENT,  /* `err` says why */
	WINDOW_UNKNOWN, /* the store failed */
};
/* Ends the windows whose consent has ended and those without a row, and forgets rows of windows
 * that do not run any more. */
enum window_visit_result grant_visit_windows(struct grants *g, const struct window_visit *v,
                                             struct error *err);
