/* SPDX-License-Identifier: Apache-2.0 */
/* broker/descriptors.h — the limit of open files, which every sandbox takes some of. Private to
 * this folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Raises the soft limit to the hard one, and the hard one to what thousands of sandboxes need where
 * that is allowed. Says how many sandboxes a low limit is enough for. */
void descriptors_open(void);
/* Whether another sandbox may be begun. ERROR_UNAVAILABLE with EMFILE: too few are left; a create
 * that ran out of them in the middle would fail at a step that cannot say so. */
MUST_CHECK int descriptors_check(struct error *err);
/* Whether prewarmed sandboxes and pools may be filled: creates get the last descriptors. */
bool descriptors_are_plenty(void);
