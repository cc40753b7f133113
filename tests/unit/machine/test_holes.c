/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/holes.h"

#define PIECE 65536
#define PIECES 32

static int new_file(void)
{
	char path[] = "/var/tmp/atoll-holes-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

TEST(zeros_are_freed_and_the_contents_stay)
{
	static char piece[PIECE], seen[PIECE];
	struct error err = {0};
	struct stat before, after;
	int fd = new_file();

	for (unsigned i = 0; i < PIECES; i++) {
		memset(piece, i % 4 == 0 ? (int)i + 1 : 0, sizeof(piece));
		assert_int_equal(write(fd, piece, sizeof(piece)), sizeof(piece));
	}
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(holes_dig(fd, &err), 0);
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_true(after.st_blocks * 3 < before.st_blocks);
	for (unsigned i = 0; i < PIECES; i++) {
		memset(piece, i % 4 == 0 ? (int)i + 1 : 0, sizeof(piece));
		assert_int_equal(pread(fd, seen, sizeof(seen), i * PIECE), sizeof(seen));
		assert_memory_equal(piece, seen, sizeof(seen));
	}
	close(fd);
}

TEST(a_last_byte_that_is_not_zero_keeps_its_piece)
{
	static char piece[PIECE];
	struct error err = {0};
	char seen = 0;
	int fd = new_file();

	piece[PIECE - 1] = 'x';
	assert_int_equal(write(fd, piece, sizeof(piece)), sizeof(piece));
	assert_int_equal(holes_dig(fd, &err), 0);
	assert_int_equal(pread(fd, &seen, 1, PIECE - 1), 1);
	assert_int_equal(seen, 'x');
	close(fd);
}

TEST(a_small_file_is_left_alone)
{
	struct error err = {0};
	int fd = new_file();

	assert_int_equal(holes_dig(fd, &err), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(holes_dig(fd, &err), 0);
	close(fd);
}

int main(void)
{
	return RUN(CASE(zeros_are_freed_and_the_contents_stay),
	           CASE(a_last_byte_that_is_not_zero_keeps_its_piece),
	           CASE(a_small_file_is_left_alone));
}
