/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/trash_parts.h — the volumes of sandboxes in the trash. Private to this folder. */
#pragma once

#include "fleet/parts.h"
#include "store/volumes.h"

/* While the sandbox is being deleted so that it can be brought back: notes which volumes it has. */
void kept_volumes_note(struct fleet *f, const char *id);

struct kept_volumes {
	struct mount_list mounts; /* those that can be attached again */
	const char *lost;         /* ", without volume 'x', which was deleted", or "" */
};
/* False: nothing is noted. */
bool kept_volumes_find(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                       struct kept_volumes *ret);
