/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/page.h — errors as HTML pages. */
#pragma once

#include <stdbool.h>

struct buf;
struct error;

/* `retries`: the page reloads itself every two seconds. */
void preview_write_page(struct buf *out, const struct error *err, bool retries);
/* Whether a repeated request may succeed. */
bool preview_may_retry(const struct error *err);
