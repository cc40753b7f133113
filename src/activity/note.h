/* SPDX-License-Identifier: Apache-2.0 */
/* activity/note.h — private: what a note holds until its row is written. */
#pragma once

#include "activity/activity.h"
#include "base/head_tail.h"
#include "base/list.h"

struct activity_note {
	struct list item; /* in the queue of the log */
	struct activity_log *log;
	struct activity_record record; /* texts in `ids`, and after note_settle in the buffers */
	struct buf arguments, error, artifacts;
	struct head_tail output;
	struct buf head, tail; /* after note_settle */
	int64_t begun_ms;      /* monotonic */
	bool is_cut;           /* arguments */
	bool is_reported;
	char ids[];
};

/* Fills the record with all texts, in a form that every database takes. */
void note_settle(struct activity_note *n);
/* Takes the note. */
void log_add(struct activity_log *log, struct activity_note *n);
