/* SPDX-License-Identifier: Apache-2.0 */
/* agent/inspect.h — entries told with all that is known of them: for INSPECT, and for WATCH. */
#pragma once

#include "agent/files.h"

struct inspection {
	struct files *files;
	struct base_dir place;
	const struct agent_path *message;
	struct user_names names;
	struct arena arena; /* of one entry */
	uint64_t count, count_max;
	int root; /* the folder that is walked; borrowed */
};
MUST_CHECK int inspection_open(struct inspection *i, struct files *f, const struct agent_path *m,
                               struct error *err);
void inspection_done(struct inspection *i); /* zeroed is fine */
struct stat;
/* Queues the entry that `folder` has under that path: see files_flush. */
MUST_CHECK int inspection_tell(struct inspection *i, int folder, const char *below,
                               const struct stat *status, struct error *err);
