/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/score.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SCORE_SIZE_MAX 16

static int score_fd = -1;
static char first[SCORE_SIZE_MAX];
static ssize_t first_size;

void score_open(void)
{
	score_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	first_size = score_fd < 0 ? -1 : pread(score_fd, first, sizeof(first), 0);
}

void score_keep(void)
{
	char now[SCORE_SIZE_MAX];
	ssize_t size = first_size <= 0 ? -1 : pread(score_fd, now, sizeof(now), 0);

	if (size > 0 && (size != first_size || memcmp(now, first, (size_t)size) != 0))
		(void)!pwrite(score_fd, first, (size_t)first_size, 0);
}
