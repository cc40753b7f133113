/* SPDX-License-Identifier: Apache-2.0 */
/* machine/holes.h — parts of a file that hold only zeros take no room. Private to this folder. */
#pragma once

#include "base/error.h"

/* Frees the blocks of the file that hold only zeros; its contents stay the same. */
MUST_CHECK int holes_dig(int fd, struct error *err);
