/* SPDX-License-Identifier: Apache-2.0 */
/* image/ratio.h — how many times larger an archive may become when it is unpacked. Private to
 * image/.
 *
 * The largest ratio of gzip is 1032, of zstd several thousands: a few megabytes can stand for all
 * that the size limit allows. Root filesystems and source code have 2 to 10. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

#define RATIO_MAX 200
/* An image that is unpacked to no more than this may have any ratio: empty files and padding do. */
#define RATIO_IMAGE_FREE (INT64_C(100) << 20)

/* What a size beyond the limit is: one below that of all images is what a project has left. */
static inline enum error_code ratio_size_code(int64_t size_max)
{
	return size_max < IMAGE_BYTES_MAX ? ERROR_LIMIT : ERROR_TOO_LARGE;
}

/* Whether `unpacked` bytes are too many for the `packed` ones that they came from. */
static inline bool ratio_is_exceeded(int64_t packed, int64_t unpacked, int64_t unpacked_free)
{
	return unpacked > unpacked_free && unpacked / RATIO_MAX > packed;
}
