/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/surface.h — the state of the envd surface. Process lifetime. */
#pragma once

#include <stdatomic.h>

struct envd_watchers;
struct router;

struct envd_surface {
	struct router *router;             /* requests to a sandbox's envd */
	struct router *interpreter_router; /* requests to a sandbox's code interpreter */
	struct envd_watchers *watchers;    /* file watches that clients poll */
	atomic_uint searches;              /* running searches for the signer of an address */
};
