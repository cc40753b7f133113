/* SPDX-License-Identifier: Apache-2.0 */
/* tool/contents.h — reads and writes a file of the workspace. */
#pragma once

#include "base/attribute.h"
#include "base/span.h"

struct agent_file;
struct tool_call;

struct tool_file_reader {
	/* Returns 1 to stop reading, -1 for a failure, else 0. */
	int (*on_bytes)(void *context, const struct agent_file *file, struct span bytes,
	                struct error *err);
	void *context;
};
MUST_CHECK int tool_read_file(const struct tool_call *call, const char *path,
                              const struct tool_file_reader *reading, struct agent_file *ret,
                              struct error *err);
/* Replaces the file atomically. An existing file keeps its mode and owner; missing folders are
 * made. */
MUST_CHECK int tool_write_file(const struct tool_call *call, const char *path, struct span content,
                               struct agent_file *ret, struct error *err);
