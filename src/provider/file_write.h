/* SPDX-License-Identifier: Apache-2.0 */
/* provider/file_write.h — the server's own small files in a started sandbox. Part of the contract
 * of provider.h. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct provider;

struct provider_file {
	/* Inside the sandbox. With a root the path is below it and does not leave it, by a link
	 * either; NULL: the path is absolute, and links are followed there. */
	const char *root, *path;
	struct span content;
	uint32_t flags;   /* enum agent_path_flag */
	int64_t deadline; /* monotonic ms; for the agent, which may be hostile or slow */
};
/* Asks the sandbox's agent to replace a file, as the sandbox's root user. The agent opens the path
 * inside the sandbox; the host opens none. Blocks until the deadline at most. */
MUST_CHECK int provider_write_file(struct provider *p, const char *id,
                                   const struct provider_file *file, struct error *err);
