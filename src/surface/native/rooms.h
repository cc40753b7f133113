/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/rooms.h — those who look at one terminal learn of each other: who types, who has
 * taken it over. Private to this folder.
 *
 * A viewer's connection is written to on the loop's thread and never from within another one's
 * callback: what is to be told is posted. */
#pragma once

#include "edge/api.h"
#include "http/relay.h"
#include "terminal/viewers.h"

struct room_viewer {
	struct terminal_viewer viewer;
	struct relay *relay; /* from its start to its release */
};

enum room_event { ROOM_TYPING, ROOM_TAKEN_OVER };
struct room_news {
	enum room_event event;
	const char *sandbox;
	uint64_t process;
	uint64_t viewer; /* who does it, and is not told; 0 = a call */
	const char *who;
};
/* Any thread. */
void room_tell(struct api *api, const struct room_news *news);
