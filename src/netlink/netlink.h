/* SPDX-License-Identifier: Apache-2.0 */
/* netlink/netlink.h — netlink messages, written into one buffer and sent as one batch.
 * (libmnl would be used for nothing else; see docs/decisions.) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Begins a message: its header and the family's fixed part. Returns its offset, for netlink_end. */
size_t netlink_begin(struct buf *batch, uint16_t type, uint16_t flags, const void *fixed,
                     size_t fixed_size);
void netlink_end(struct buf *batch, size_t begin);
void netlink_add(struct buf *batch, uint16_t type, const void *data, size_t size);
void netlink_add_u32(struct buf *batch, uint16_t type, uint32_t value);
void netlink_add_text(struct buf *batch, uint16_t type, const char *text);
/* Opens an attribute that holds others, until netlink_close. */
size_t netlink_open(struct buf *batch, uint16_t type);
void netlink_close(struct buf *batch, size_t open);

/* The first attribute of this type among those of a message or of another attribute; its data is
 * NULL when there is none. */
struct span netlink_find(struct span attributes, uint16_t type);

/* A socket for routes in the calling process's network namespace. */
MUST_CHECK int netlink_socket(int *ret_fd, struct error *err);
/* The same for another protocol of the kernel, such as NETLINK_NETFILTER. */
MUST_CHECK int netlink_open_socket(int protocol, int flags, int *ret_fd, struct error *err);
/* Sends the batch and waits for the answer to each of its messages. The first failure is the error,
 * with `what` before it. */
MUST_CHECK int netlink_run(int fd, const struct buf *batch, const char *what, struct error *err);
