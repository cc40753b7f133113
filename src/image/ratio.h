/* SPDX-License-Identifier: Apache-2.0 */
/* image/ratio.h — how many times larger an archive may become when it is unpacked. The largest
 * ratio of gzip is 1032, of zstd several thousands: a few megabytes can expand to the whole size
 * limit. Root filesystems and source code have 2 to 10. */
#pragma once

#include "compression/gunzip.h"
#include "image/image.h"

/* An image that unpacks to at most 100 MiB may have any ratio, because empty files and padding
 * have. */
#define RATIO_MAX 200
#define RATIO_LIMIT ((struct ratio_limit){RATIO_MAX, INT64_C(100) << 20})

/* The error for a size beyond the limit: a limit below that of all images is what the project has
 * left. */
static inline enum error_code ratio_size_code(int64_t size_max)
{
	return size_max < IMAGE_BYTES_MAX ? ERROR_LIMIT : ERROR_TOO_LARGE;
}
