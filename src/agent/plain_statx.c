/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/plain_statx.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/plain_statx_bytes.h"
#include "base/fd.h"
#include "isolation/plan.h"

#define LIBRARY ISOLATION_FILES "/plain_statx.so"
#define LIST ISOLATION_FILES "/ld.so.preload" /* STEP_FILE keeps the text there */

static bool kernel_refuses(void)
{
	struct statx status;

	return statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_TYPE, &status) < 0 && errno == EINVAL;
}

int plain_statx_install(struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!kernel_refuses())
		return 0;
	fd = open(LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return FAIL_ERRNO(err, "make '" LIBRARY "'");
	if (fd_write_all(fd, plain_statx_bytes, plain_statx_bytes_size, err) < 0)
		return -1;
	return file_poke(AT_FDCWD, LIST, LIBRARY "\n", err);
}
