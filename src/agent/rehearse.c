/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rehearse.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/reaper.h"

#define NOWHERE "/proc/self/none"

static const char *const names[] = {
        "/bin/sh",
        "/bin/bash",
        "/bin/true",
        "/usr/bin/env",
        "/usr/bin/python3",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libtinfo.so.6",
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/aarch64-linux-gnu/libc.so.6",
        "/etc/ld.so.preload",
        "/etc/ld.so.cache",
        "/etc/passwd",
        "/etc/group",
        "/etc/localtime",
        "/dev/null",
        "/home/user/project",
        "/proc/self/oom_score_adj",
};

/* O_PATH has no effect on a device or a pipe. */
static void look_up_name(const char *name)
{
	int fd = open(name, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
}

static void start_nothing(void)
{
	static const char *const paths[] = {NOWHERE, NULL}, *const none[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct spawn spawn = {.paths = paths,
	                            .args = paths,
	                            .env = none,
	                            .cwd = "/",
	                            .root = AT_FDCWD,
	                            .fds = {null, null, null}};
	struct error ignored;
	struct reaper *reaper;

	if (null >= 0 && reaper_start(&spawn, &reaper, &ignored) == 0) {
		(void)waitpid(reaper_pid(reaper), NULL, 0);
		reaper_free(reaper);
	}
	if (null >= 0)
		(void)close(null);
}

void rehearse_first_command(void)
{
	for (unsigned i = 0; i < COUNT_OF(names); i++)
		look_up_name(names[i]);
	start_nothing();
}
