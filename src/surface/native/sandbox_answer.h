/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/sandbox_answer.h — sandboxes in answers, with where they come from. */
#pragma once

#include "http/http.h"
#include "json/json.h"
#include "store/relations.h"

/* A sandbox as its own routes answer it. */
extern const struct json_shape sandbox_shape;
int sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r);
/* A list of sandbox_shape, in the request's arena. */
struct json_list sandbox_answers(struct request *rq, const struct sandbox_record *records,
                                 size_t count);
/* The same with its lineage, its volumes and its preview's ports: one more query. */
MUST_CHECK int sandbox_reply_whole(struct request *rq, struct reply *reply,
                                   const struct sandbox_record *r, struct error *err);
/* Newest first, with what they were made of and their volumes: one more query for all. */
MUST_CHECK int sandbox_answers_related(struct request *rq, const struct sandbox_record *records,
                                       size_t count, struct json_list *ret, struct error *err);

struct attached_volume_answer {
	const char *volume, *volume_id, *path;
	bool read_only;
};
extern const struct json_shape attached_volume;

struct lineage_step {
	const char *kind, *id, *name, *sandbox, *sandbox_name;
};
extern const struct json_shape lineage_step_shape;
/* The snapshots below, and then the template. */
struct json_list lineage_answer(struct arena *a, const struct relation_list *relations,
                                const struct lineage_step *template);
