/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/live.h — open streams of previews, so that revoked access ends them. On the
 * loop's thread. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/list.h"

struct api;
struct preview_live;
struct preview_sandbox;
struct relay;

struct preview_stream {
	struct list item;
	struct preview_sandbox *sandbox; /* NULL: not added */
	struct relay *relay;
	char id[ID_SIZE + 1]; /* of the sandbox */
	bool is_granted;      /* opened by a grant, not by a key */
};
/* False if the sandbox has too many streams. */
bool preview_live_add(struct preview_live *live, struct preview_stream *s);
void preview_live_remove(struct preview_live *live, struct preview_stream *s);
/* Any thread: ends all streams of a sandbox, or those that a grant opened, soon after. */
void preview_live_cut(struct api *api, const char *id, bool granted_only);
