/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SHARED_FOLDER "/run/atoll"
#define NODES_FOLDER SHARED_FOLDER "/nodes"
#define PLACE_MAX 4096

static int refuse_copy(int fd, const char *data_dir, const struct id *node, struct error *err)
{
	AUTO(buf_done) struct buf place = BUF(PLACE_MAX);
	struct error ignored = {0};

	if (fd_read_to_end(fd, &place, &ignored) < 0)
		buf_reset(&place);
	(void)FAIL(err, ERROR_CONFLICT,
	           "'%.80s' is a copy of '%.80s', whose server runs: both are node '%s'", data_dir,
	           buf_text(&place), node->text);
	error_hint(err, "stop that server before; another server needs a data folder of its own, "
	                "which its first start makes");
	return -1;
}

/* For people and for the message above; the lock is what counts. */
static void write_place(int fd, const char *data_dir)
{
	size_t size = strlen(data_dir);

	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, data_dir, size < PLACE_MAX ? size : PLACE_MAX - 1, 0);
}

int copies_lock(const char *data_dir, const struct id *node, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	char path[64];

	if ((mkdir(SHARED_FOLDER, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(NODES_FOLDER, 0700) < 0 && errno != EEXIST))
		return FAIL_ERRNO(err, "make the folder '" NODES_FOLDER "'");
	(void)snprintf(path, sizeof(path), NODES_FOLDER "/%s", node->text);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? refuse_copy(fd, data_dir, node, err)
		                            : FAIL_ERRNO(err, "lock '%s'", path);
	write_place(fd, data_dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
