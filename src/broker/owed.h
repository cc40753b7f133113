/* SPDX-License-Identifier: Apache-2.0 */
/* broker/owed.h — whom to answer. Private to this folder. */
#pragma once

#include <stdint.h>

/* A connection's serial number and its request. */
struct pending_reply {
	uint64_t connection, request;
};
