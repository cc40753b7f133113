/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/lsp_frame.h — messages of the Language Server Protocol in a stream of bytes: a
 * head with "Content-Length", an empty line, JSON. Pure.
 *
 * The reader may begin in the middle of a message, and the writer is not trusted. Bytes that are
 * no message are skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define LSP_MESSAGE_MAX ((size_t)4 << 20)

void lsp_frame_add(struct buf *out, struct span message);
/* Finds the next whole message from offset *at and moves *at behind it. The message is valid until
 * the buffer changes. Returns false if more bytes are needed. */
bool lsp_frame_next(const struct buf *in, size_t *at, struct span *ret);
