/* SPDX-License-Identifier: Apache-2.0 */
/* egress/refusal.h — the HTTP answer to a refused connection, for programs and models. Pure. */
#pragma once

#include "base/bytes.h"

struct network_decision;

/* Writes a whole answer. Its reason phrase, and the body as JSON or, for git, as text, say the
 * host, the reason and how to ask. */
void refusal_write(struct buf *out, const struct network_decision *d, struct span request_head);
