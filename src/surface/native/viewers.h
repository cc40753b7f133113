/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/viewers.h — tells the viewers of a terminal which viewer types or has taken it
 * over.
 *
 * An announcement is posted to the loop: a viewer's connection is written to on the loop's thread
 * only, and never from within the callback of another viewer. */
#pragma once

#include <stdint.h>

#include "terminal/viewers.h"

struct api;
struct relay;

struct connected_viewer {
	struct terminal_viewer viewer;
	struct relay *relay; /* from its start to its release */
};

enum viewer_event_kind {
	VIEWER_TYPING,
	VIEWER_TAKEN_OVER,
};
struct viewer_event {
	enum viewer_event_kind kind;
	const char *sandbox;
	uint64_t process;
	uint64_t viewer; /* the viewer that acts and gets no announcement; 0: a call acts */
	const char *who;
};
/* Copies the event. Any thread. */
void viewers_announce(struct api *api, const struct viewer_event *event);
