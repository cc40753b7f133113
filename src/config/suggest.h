/* SPDX-License-Identifier: Apache-2.0 */
/* config/suggest.h — "did you mean". Private to this folder. */
#pragma once

#include "base/span.h"

/* The option whose name is nearest, at most two edits away; NULL when none is. */
const char *suggest_option(struct span name);
