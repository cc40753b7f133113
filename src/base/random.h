/* SPDX-License-Identifier: Apache-2.0 */
/* base/random.h — the kernel's random bytes; aborts when it has none to give. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *out, size_t size);
uint64_t random_below(uint64_t bound); /* uniform in [0, bound) */
