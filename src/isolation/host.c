/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/isolation.h"

#define KERNEL_MAJOR 5
#define KERNEL_MINOR 19 /* overlayfs over mounts with mapped ids */

static int check_kernel(struct error *err)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (uname(&name) < 0)
		return FAIL_ERRNO(err, "ask for the kernel's version");
	if (sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return FAIL(err, ERROR_UNSUPPORTED, "kernel version '%.64s' is not a number",
		            name.release);
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "kernel %u.%u is too old: native sandboxes need %d.%d (overlay over "
		            "id-mapped mounts)",
		            major, minor, KERNEL_MAJOR, KERNEL_MINOR);
	return 0;
}

static int check_filesystems(struct error *err)
{
	static const char *const wanted[] = {"overlay", "proc", "tmpfs", "devpts"};
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	if (file_read(AT_FDCWD, "/proc/filesystems", &text, err) < 0)
		return -1;
	for (unsigned i = 0; i < COUNT_OF(wanted); i++) {
		char word[32];

		(void)snprintf(word, sizeof(word), "\t%s\n", wanted[i]);
		if (!strstr(buf_text(&text), word))
			return FAIL(err, ERROR_UNSUPPORTED, "this kernel has no filesystem '%s'%s",
			            wanted[i], i == 0 ? " (modprobe overlay)" : "");
	}
	return 0;
}

int isolation_check_host(struct error *err)
{
	static const char *const namespaces[] = {"user", "mnt", "pid",   "net",
	                                         "ipc",  "uts", "cgroup"};

	if (check_kernel(err) < 0 || check_filesystems(err) < 0)
		return -1;
	for (unsigned i = 0; i < COUNT_OF(namespaces); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		if (access(path, F_OK) < 0)
			return FAIL(err, ERROR_UNSUPPORTED, "this kernel has no %s namespaces",
			            namespaces[i]);
	}
	return 0;
}
