/* SPDX-License-Identifier: Apache-2.0 */
/* config/suggest.h — the suggestion of "did you mean". */
#pragma once

#include "base/bytes.h"

/* The option with the nearest name, see base/nearest.h; NULL if none is near enough. */
const char *suggest_option(struct span name);
