/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/lsp_frame.h — messages of the Language Server Protocol in a stream of bytes: a
 * head with "Content-Length", an empty line, JSON. Pure; private to this folder.
 *
 * A stream may be come to in the middle of a message, and what writes it is not trusted: what is no
 * message is passed over. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/span.h"

#define LSP_MESSAGE_MAX ((size_t)4 << 20)

void lsp_frame_add(struct buf *out, struct span message);
/* The next whole one, which is good until the buffer changes, and how much of the buffer it is the
 * end of; false when more has to come. */
bool lsp_frame_next(const struct buf *in, size_t *at, struct span *ret);
