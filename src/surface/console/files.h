/* SPDX-License-Identifier: Apache-2.0 */
/* surface/console/files.h — the web console's files inside the program.
 *
 * tools/embed_console.py generates the table from console/dist. Everything in it is constant; any
 * thread may read it. */
#pragma once

#include "base/bytes.h"

enum console_coding { CONSOLE_PLAIN, CONSOLE_GZIP, CONSOLE_BROTLI, CONSOLE_CODING_COUNT };

struct console_file {
	const char *path; /* below /console/: "assets/index.1f2e3d4c.js" */
	const char *type; /* Content-Type */
	const char *etag; /* of the content, with its quotes */
	/* A missing coding has a NULL start. */
	const unsigned char *start[CONSOLE_CODING_COUNT], *end[CONSOLE_CODING_COUNT];
};

/* Sorted by path; empty when the program was built without the console. */
extern const struct console_file console_files[];
extern const size_t console_file_count;

/* The file's bytes in a coding that the client accepts, the smallest first. `accepted` is the
 * header Accept-Encoding or NULL. */
enum console_coding console_choose_coding(const struct console_file *file, const char *accepted);
/* NULL: there is no such file. */
const struct console_file *console_find_file(const char *path);
