/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/trash_note.h — what happens to the files of a sandbox that is removed. */
#pragma once

#include <stdint.h>

struct trash_note {
	uint32_t reason; /* enum broker_trash_reason */
	uint64_t keep_s; /* 0: delete now */
};
