/* SPDX-License-Identifier: Apache-2.0 */
/* credential/h2/h2.h — HTTP/2 (RFC 9113) on one side of a connection, by nghttp2: each stream is an
 * passage. Loop thread.
 *
 * Memory is bounded by flow control: the window of a stream or of the connection grows only as
 * bytes are sent on, on the other side; GATHERED_MAX bounds bodies that wait for a signature. A
 * peer that resets streams, sends frames without content or begins heads too often is cut off
 * (session.h). WebSockets over HTTP/2 (RFC 8441) are not offered.
 */
#pragma once

struct wire;

/* The side of the sandbox. `base` says connection and buffers; free it with its calls. NULL when
 * nghttp2 refuses. */
struct wire *h2_client_new(const struct wire *base);
/* The side of the host. */
struct wire *h2_host_new(const struct wire *base);
