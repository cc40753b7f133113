/* SPDX-License-Identifier: Apache-2.0 */
/* image/ratio.h — how many times larger an archive may become when it is unpacked. The largest
 * ratio of gzip is 1032, of zstd several thousands: a few megabytes can expand to the whole size
 * limit. Root filesystems and source code have 2 to 10. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

#define RATIO_MAX 200
/* An image that unpacks to at most this size may have any ratio, because empty files and padding
 * have. */
#define RATIO_IMAGE_FREE (INT64_C(100) << 20)

/* The error for a size beyond the limit: a limit below that of all images is what the project has
 * left. */
static inline enum error_code ratio_size_code(int64_t size_max)
{
	return size_max < IMAGE_BYTES_MAX ? ERROR_LIMIT : ERROR_TOO_LARGE;
}

/* Whether `unpacked` bytes are too many for `packed` bytes of input. */
static inline bool ratio_is_exceeded(int64_t packed, int64_t unpacked, int64_t unpacked_free)
{
	return unpacked > unpacked_free && unpacked / RATIO_MAX > packed;
}
