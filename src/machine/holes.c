/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/holes.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PIECE 65536 /* smaller holes cost more in extents than they save */

static bool is_zero(const char *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

static int free_zeros(int fd, off_t from, off_t to, struct error *err)
{
	if (to > from &&
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) < 0)
		return FAIL_ERRNO(err, "free zeros of a file");
	return 0;
}

static int free_all_zeros(int fd, const char *data, off_t size, struct error *err)
{
	off_t from = 0, at = 0;

	for (; at + PIECE <= size; at += PIECE) {
		if (is_zero(data + at, PIECE))
			continue;
		if (free_zeros(fd, from, at, err) < 0)
			return -1;
		from = at + PIECE;
	}
	return free_zeros(fd, from, at, err);
}

int holes_dig(int fd, struct error *err)
{
	struct stat file;
	void *data;

	if (fstat(fd, &file) < 0)
		return FAIL_ERRNO(err, "look at a file");
	if (file.st_size < PIECE)
		return 0;
	data = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return FAIL_ERRNO(err, "map a file");
	int status = free_all_zeros(fd, data, file.st_size, err);
	(void)munmap(data, (size_t)file.st_size);
	return status;
}
