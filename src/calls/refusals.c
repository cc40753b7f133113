/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/refusals.h"

#include "edge/api.h"
#include "edge/target.h"
#include "store/sandbox_record.h"

struct decision_watch api_watch_network(const struct request *rq, const struct api_target *t,
                                        struct arena *a)
{
	if (!t->record)
		return (struct decision_watch){0};
	return decision_watch_begin(a, api_of(rq)->decisions, arena_text(a, t->record->id),
	                            t->record->egress);
}
