/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/pool_size.h — parses "TARGET[:MIN[:MAX]]" into the body of a request. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

MUST_CHECK int pool_size_json(struct arena *a, const char *text, const char **ret,
                              struct error *err);
