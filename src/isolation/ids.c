/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/ids.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define CHILD_STACK_SIZE 16384

static int write_maps(pid_t pid, const char *map, struct error *err)
{
	static const char *const files[] = {"uid_map", "gid_map"};

	for (unsigned i = 0; i < COUNT_OF(files); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		if (file_poke(AT_FDCWD, path, map, err) < 0)
			return -1;
	}
	return 0;
}

int id_map_write(pid_t pid, uint32_t slot, struct error *err)
{
	char map[64];

	(void)snprintf(map, sizeof(map), "0 %u %u", id_base(slot), ID_COUNT);
	return write_maps(pid, map, err);
}

static int open_namespace(pid_t pid, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", path) : 0;
}

/* The second line gives the host's root an id on disk: overlayfs does its own work in the upper
 * layer as the user that mounted it, and an id without a place there is refused (EOVERFLOW). */
static int map_layers(pid_t pid, uint32_t slot, int *ret_fd, struct error *err)
{
	char map[96];

	(void)snprintf(map, sizeof(map), "%u %u %u\n%u 0 1", ID_STORED, id_base(slot), ID_COUNT,
	               ID_STORED_HOST);
	if (write_maps(pid, map, err) < 0)
		return -1;
	return open_namespace(pid, ret_fd, err);
}

/* In the child: no other process would end it if its parent were killed now. */
static int wait_for_the_end(void *parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == *(const pid_t *)parent)
		pause();
	_exit(1);
}

/* The namespace needs a process only until a descriptor holds it. A process that shares memory and
 * descriptors costs a tenth of a fork, because nothing is copied or freed. */
int id_map_open(uint32_t slot, int *ret_fd, struct error *err)
{
	_Alignas(16) char stack[CHILD_STACK_SIZE];
	pid_t parent = getpid();
	pid_t pid = clone(wait_for_the_end, stack + sizeof(stack),
	                  CLONE_NEWUSER | CLONE_VM | CLONE_FILES | SIGCHLD, &parent);
	int status;

	if (pid < 0)
		return FAIL_ERRNO(err, "make a user namespace");
	status = map_layers(pid, slot, ret_fd, err);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return status;
}
