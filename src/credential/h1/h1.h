/* SPDX-License-Identifier: Apache-2.0 */
/* credential/h1/h1.h — HTTP/1.1 on one side of a connection: requests one after the other, and a
 * WebSocket after a request that opens one. Loop thread. */
#pragma once

struct wire;

/* The side of the sandbox. `base` says connection and buffers; free it with its calls. */
struct wire *h1_client_new(const struct wire *base);
/* The side of the host. */
struct wire *h1_host_new(const struct wire *base);
