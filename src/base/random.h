/* SPDX-License-Identifier: Apache-2.0 */
/* base/random.h — random bytes from the kernel; aborts when the kernel provides none. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *out, size_t size);
uint64_t random_below(uint64_t bound); /* uniform in [0, bound) */
