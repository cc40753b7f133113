/* SPDX-License-Identifier: Apache-2.0 */
/* image/command.h — runs a program (or a function) in a jail, line by line, to its end.
 *
 * The program is killed when the reader of the progress has gone, and when its files outgrow their
 * limit. After a failure the error is made from the last lines of its output (failure.h). */
#pragma once

#include "image/image.h"
#include "image/jail.h"

struct image_command {
	const char *const *argv; /* looked up in COMMAND_PATH; NULL = `function` */
	int (*function)(void *context);
	void *context;
	const char *const *env;          /* NULL-terminated, over a small set of ours */
	int folder_fd;                   /* of struct jail */
	bool strict, read_only, network; /* of struct jail */
	int source_fd, read_fd;          /* of struct jail */
	int network_fd;                  /* of struct jail; our own proxies are not for it */
	const char *measured; /* folder that may hold at most job->size_max; NULL = any */
	int64_t packed_bytes; /* what `measured` is unpacked from, see ratio.h; 0 = not known */
	void (*on_line)(void *context, const char *line); /* may be NULL; gets `line_context` */
	void *line_context;
};

#define COMMAND_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

MUST_CHECK int command_run(const struct image_spec *spec, const struct image_command *command,
                           struct error *err);
/* True when the environment names a proxy to the internet. */
bool command_has_proxy(void);
/* Fails with ERROR_UNSUPPORTED, naming the Debian package, when the program is missing. */
MUST_CHECK int command_require(const char *program, struct error *err);
