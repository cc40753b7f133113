/* SPDX-License-Identifier: Apache-2.0 */
/* agent/dial.h — connects to a server inside the sandbox for a client outside. */
#pragma once

#include "base/error.h"
#include "wire/agent_dial.h"

/* Does not wait: the socket may still be connecting. */
MUST_CHECK int dial_server(const struct agent_dial *request, int *ret_fd, struct error *err);
