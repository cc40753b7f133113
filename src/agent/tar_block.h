/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tar_block.h — a ustar header as it lies in the stream. */
#pragma once

#include "agent/tar.h"

struct tar_block {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], time[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32];
	char major[8], minor[8];
	char prefix[155];
	char unused[12];
};
_Static_assert(sizeof(struct tar_block) == TAR_BLOCK, "a header is one block");

/* The sum of all bytes, its own field taken as spaces. */
unsigned tar_checksum(const struct tar_block *block);
