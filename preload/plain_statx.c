/* SPDX-License-Identifier: Apache-2.0 */
/* statx for programs on a kernel of gVisor that refuses AT_NO_AUTOMOUNT (agent/plain_statx.h).
 * Without that flag the call does the same, because gVisor mounts nothing by itself. Linked with no
 * library, so that it can be loaded beside any version of one; `syscall` is the program's. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *ret)
{
	return (int)syscall(SYS_statx, folder, path, flags & ~AT_NO_AUTOMOUNT, mask, ret);
}
