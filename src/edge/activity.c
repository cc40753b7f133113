/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/activity.h"

#include <string.h>

#include "base/path.h"
#include "edge/api.h"
#include "edge/caller.h"
#include "http/server/http.h"
#include "store/sandbox_record.h"

struct activity_note *api_activity_begin(const struct request *rq, const struct api_target *t,
                                         const struct api_activity_call *call)
{
	const struct api_caller *caller = rq->caller; /* NULL: a token of the sandbox allows it */
	struct activity_start start = {
	        .kind = call->kind,
	        .operation = call->operation,
	        .conversation = call->conversation,
	        .at = call->at,
	};

	if (!t->record)
		return NULL;
	start.project_id = t->record->project_id;
	start.sandbox_id = t->record->id;
	if (caller) {
		start.key_id = caller->account.key_id;
		start.user_id = caller->account.user_id;
	}
	if (!start.conversation && rq->exchange)
		start.conversation = request_header(rq, "Atoll-Conversation");
	return activity_begin(api_of(rq)->activity, &start);
}

static const char *shell_line(const char *const *args)
{
	static const char *const shells[] = {"bash", "sh"};
	size_t last = 0;

	while (args[last])
		last++;
	if (last < 3 || last > 4 || strcmp(args[last - 2], "-c") != 0)
		return NULL;
	if (last == 4 && strcmp(args[1], "-l") != 0)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(shells); i++)
		if (strcmp(path_last(args[0]), shells[i]) == 0)
			return args[last - 1];
	return NULL;
}

void api_activity_add_args(struct activity_note *n, const char *const *args)
{
	const char *line = shell_line(args);

	if (line)
		activity_add_text(n, span_of(line));
	for (; !line && *args; args++)
		activity_add_word(n, *args);
}
