/* SPDX-License-Identifier: Apache-2.0 */
/* tests/escape/attempt.h — ways to get out, tried from inside a sandbox.
 *
 * The program `attempts NAME [ARGUMENT]` runs one and ends with 0 when the sandbox held, 1 when the
 * attempt got through (with a line that says how), 2 when it could not be tried at all. The tests
 * in test_attempts.py run each as the sandbox's root and as its user, and look at the host
 * afterwards. */
#pragma once

#include <stdbool.h>

enum outcome { HELD = 0, BROKE_OUT = 1, NOT_TRIED = 2 };

struct attempt {
	const char *name;
	enum outcome (*run)(const char *argument);
	const char *about;
};

/* One table per kind; each ends with name NULL. */
extern const struct attempt mount_attempts[], process_attempts[], kernel_attempts[],
        network_attempts[];

/* HELD when `result` is negative (prints errno), else BROKE_OUT with `what`. */
enum outcome expect_refused(long result, const char *what);
/* Whether `path` can be opened with `flags`; prints. */
enum outcome expect_no_open(const char *path, int flags);
/* HELD when none of the outcomes is BROKE_OUT. */
enum outcome worst(const enum outcome *outcomes, unsigned count);
enum outcome broke_out(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
enum outcome held(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
