/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/surface.h — the state of the Daytona surface. Process lifetime. */
#pragma once

struct daytona_lsp_queue;
struct daytona_pending;

struct daytona_surface {
	struct daytona_pending *pending; /* sandboxes whose images are being built */
	struct daytona_lsp_queue *lsp_queue;
};
