/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/shell.h — files and programs of a shell. Private to this folder. */
#pragma once

#include "provider/microvm/microvm.h"

#define SHELL_USER "65534" /* QEMU's */

/* The files that every machine needs, into a new shell: kernel, initial memory disk, programs. */
MUST_CHECK int shell_write_parts(struct provider *p, const char *id, int64_t deadline,
                                 struct error *err);
MUST_CHECK int shell_write_file(struct provider *p, const char *id, const char *path,
                                struct span content, int64_t deadline, struct error *err);
struct shell_program {
	const char *const *args; /* absolute path, arguments, NULL */
	const char *user;        /* NULL: root */
	const char *doing;       /* for the error: "make the disk" */
	int64_t deadline;
};
/* Runs it to its end. Its standard error becomes the error when it fails. */
MUST_CHECK int shell_run(struct provider *p, const char *id, const struct shell_program *program,
                         struct error *err);
