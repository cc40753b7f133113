/* SPDX-License-Identifier: Apache-2.0 */
/* image/command.h — runs a program (or a function) in a jail, line by line, to its end.
 *
 * It is ended early when nobody reads the progress any more and when what it writes outgrows its
 * limit. When it fails, the error is made from what it said last (failure.h). */
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
/* Whether this machine's way to the internet is a proxy, by our environment. */
bool command_has_proxy(void);
/* ERROR_UNSUPPORTED, with the Debian package to install, when it is not there. */
MUST_CHECK int command_require(const char *program, struct error *err);
