/* SPDX-License-Identifier: Apache-2.0 */
/* agent/inspect.h — sends entries with all their attributes: for INSPECT and WATCH. */
#pragma once

#include "agent/files.h"

struct inspection {
	struct files *files;
	struct base_dir place;
	const struct agent_path *message;
	struct user_names names;
	struct arena arena; /* of one entry */
	uint64_t count, count_max;
	int root; /* the walked folder; borrowed */
};
MUST_CHECK int inspection_open(struct inspection *i, struct files *f, const struct agent_path *m,
                               struct error *err);
void inspection_done(struct inspection *i); /* zeroed is fine */
struct stat;
/* Queues the entry at `below` in `folder`; files_flush sends it. */
MUST_CHECK int inspection_tell(struct inspection *i, int folder, const char *below,
                               const struct stat *status, struct error *err);
