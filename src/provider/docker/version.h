/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/version.h — what a daemon tells of itself in its answer to /version: its dialect
 * and the version of the Engine API for its calls. Pure. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

/* How the daemons that speak the Engine API differ. */
struct docker_dialect {
	const char *name;
	const char *component; /* of the answer to /version */
	bool has_id;           /* /info tells an id that stays */
	bool has_update;       /* limits of a container can be changed */
	bool has_icc;          /* a network can keep its containers apart */
	bool has_gpus;         /* it heeds requests for devices */
};
struct docker_version {
	unsigned minor; /* of the API: calls go to /v1.MINOR */
	const struct docker_dialect *dialect;
};
/* The oldest version that both sides know, because later ones remove members. ERROR_UNAVAILABLE for
 * an answer that is none of a daemon, or has no version in common. */
MUST_CHECK int docker_version_read(struct span body, struct docker_version *ret, struct error *err);
