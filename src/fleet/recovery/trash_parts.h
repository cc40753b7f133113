/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/trash_parts.h — the volumes of sandboxes in the trash. */
#pragma once

#include "store/volumes.h"

struct fleet;
struct sandbox_record;

/* Notes the volumes of a sandbox that is being deleted and can be brought back. */
void kept_volumes_note(struct fleet *f, const char *id);

struct kept_volumes {
	struct mount_list mounts; /* only volumes that can be attached again */
	const char *lost;         /* ", without volume 'x', which was deleted", or "" */
};
/* False: no volumes are noted. */
bool kept_volumes_find(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                       struct kept_volumes *ret);

/* Trims the trash and counts its entries. Each minute. */
void trash_tick(struct fleet *f);
