/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/pending_reply.h — the request that a later reply answers. */
#pragma once

#include <stdint.h>

struct pending_reply {
	uint64_t connection; /* serial number of the connection */
	uint64_t request;    /* number of the request on it */
};
