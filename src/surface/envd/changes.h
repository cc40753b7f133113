/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/changes.h — changes below a folder as envd's FilesystemEvents. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct agent_path;
struct api_target;
struct json_value;
struct request;

/* The size of one event with its entry, in which JSON may escape every byte. */
#define CHANGES_EVENT_MAX ((size_t)256 * 1024)

struct changes {
	struct buf entry; /* the entry that belongs to the next change; empty = none */
	struct buf event;
};
void changes_init(struct changes *c);
void changes_done(struct changes *c); /* zeroed is fine */
/* Takes a message that the agent sends after READY. Returns 1 and the event's JSON, which is valid
 * until the next call; 0 if the event needs a further message; -1 if the message is unexpected or
 * events were lost. */
MUST_CHECK int changes_take_message(struct changes *c, struct arena *a, uint16_t type,
                                    struct span payload, struct span *ret, struct error *err);

/* Turns {"path":…,"recursive":…,"includeEntry":…} into the agent's request. */
MUST_CHECK int changes_read_request(struct request *rq, const struct api_target *t,
                                    const struct json_value *body, struct agent_path *ret,
                                    struct error *err);
/* Gives an agent's failure the code that envd has for it. */
void changes_translate_error(struct error *err);
