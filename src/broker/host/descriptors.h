/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/descriptors.h — the limit of open files; every sandbox needs some of them. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Raises the soft limit to the hard one, and the hard one to what thousands of sandboxes need if
 * that is allowed. Logs how many sandboxes a low limit allows. */
void descriptors_open(void);
/* Whether another sandbox may be started. ERROR_UNAVAILABLE with EMFILE: too few are left; a create
 * that ran out of descriptors midway could not report it. */
MUST_CHECK int descriptors_check(struct error *err);
/* Whether prewarmed sandboxes and pools may be filled; creates get the last descriptors. */
bool descriptors_are_plenty(void);
