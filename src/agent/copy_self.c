/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <fcntl.h>

#include "base/bytes.h"
#include "base/fd.h"

#define PROGRAM_MAX ((size_t)64 * 1024 * 1024)

int agent_copy_self(const char *path, struct error *err)
{
	AUTO(buf_done) struct buf program = BUF(PROGRAM_MAX);

	if (file_read(AT_FDCWD, "/proc/self/exe", &program, err) < 0)
		return FAIL_CONTEXT(err, "read the agent's own program");
	if (file_write(AT_FDCWD, path, buf_span(&program), 0755, err) < 0)
		return FAIL_CONTEXT(err, "copy the agent to '%s'", path);
	return 0;
}
