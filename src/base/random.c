/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void random_bytes(void *out, size_t size)
{
	char *at = out;

	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		at += got;
		size -= (size_t)got;
	}
}

uint64_t random_below(uint64_t bound)
{
	uint64_t value, rejected;

	assert(bound > 0);
	/* 2^64 mod bound: below it, small remainders would come up once more often. */
	rejected = -bound % bound;
	do
		random_bytes(&value, sizeof(value));
	while (value < rejected);
	return value % bound;
}
