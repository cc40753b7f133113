/* SPDX-License-Identifier: Apache-2.0 */
/* A shell line: the look at it ends, and what it refuses it says why. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "tool/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const listed[] = {"bash", NULL};
	const struct command_guard guard = {listed, "/home/user/project"}, open = {NULL, NULL};
	AUTO(arena_done) struct arena a = {0};
	struct span line = {(const char *)data, size};
	struct error err = {0};

	if (size > 65536 || span_find(line, '\0') >= 0)
		return 0;
	if (command_guard_check(&guard, arena_copy(&a, line), &err) < 0 &&
	    (!err.text[0] || !err.hint[0]))
		abort();
	if (command_guard_check(&open, arena_copy(&a, line), &err) < 0)
		abort();
	return 0;
}
