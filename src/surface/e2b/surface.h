/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/surface.h — the state of E2B's control API. Process lifetime. */
#pragma once

struct e2b_announced_builds;

struct e2b_surface {
	struct e2b_announced_builds *builds; /* that clients have announced */
};
