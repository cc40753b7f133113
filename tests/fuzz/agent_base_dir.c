/* SPDX-License-Identifier: Apache-2.0 */
/* Any path, beneath a workspace with links that lead out of it: what opens must lie inside. The
 * workspace is made once; nothing is written but folders on the way to a spot. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base_dir.h"
#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/atoll-fuzz-XXXXXX";
static char work[sizeof(root) + 8];

static void remove_workspace(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command) != 0)
		_exit(1);
}

static void make_workspace(void)
{
	if (work[0])
		return;
	if (!mkdtemp(root))
		abort();
	(void)snprintf(work, sizeof(work), "%s/w", root);
	if (mkdir(work, 0755) < 0 || chdir(work) < 0 || mkdir("a", 0755) < 0 ||
	    symlink("..", "b") < 0 || symlink("/", "c") < 0 || symlink("a/../a", "d") < 0 ||
	    symlink("e", "e") < 0 || symlink("../../w", "a/f") < 0)
		abort();
	if (chdir("/") < 0 || atexit(remove_workspace) != 0)
		abort();
}

/* The kernel's own word where a descriptor lies. */
static void check_inside(int fd)
{
	char self[40], path[8192];
	ssize_t size;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	size = readlink(self, path, sizeof(path) - 1);
	if (size < 0 || (size_t)size < strlen(work) || memcmp(path, work, strlen(work)) != 0)
		abort();
	if ((size_t)size > strlen(work) && path[strlen(work)] != '/')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct base_dir_rules rules = {.root = AT_FDCWD};
	struct agent_path message = {.root = work, .target = "", .flags = AGENT_PATH_BENEATH};
	AUTO(arena_done) struct arena a = {0};
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};
	AUTO_CLOSE int fd = -1;
	struct error err;

	make_workspace();
	if (size > 256)
		return 0;
	message.path = arena_copy(&a, (struct span){(const char *)data, size});
	if (base_dir_open(&place, &rules, &message, &err) < 0)
		return 0;
	if (base_dir_find(&place, message.path, O_PATH, &fd, &err) == 0)
		check_inside(fd);
	if (spot_open(&place, &a, message.path, SPOT_FOLLOW | SPOT_MAKE_PARENTS, &spot, &err) == 0)
		check_inside(spot.folder);
	return 0;
}
