/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/pool_size.h — adds "TARGET[:MIN[:MAX]]" to the body of a call. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

MUST_CHECK int pool_size_add(struct buf *body, const char *text, struct error *err);
