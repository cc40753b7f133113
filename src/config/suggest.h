/* SPDX-License-Identifier: Apache-2.0 */
/* config/suggest.h — the suggestion of "did you mean". */
#pragma once

#include "base/span.h"

/* The option with the nearest name, at most two edits away; NULL if there is none. */
const char *suggest_option(struct span name);
