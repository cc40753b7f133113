/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/command_recorder.h"

#include <stdlib.h>

#include "base/log.h"
#include "edge/api.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "store/sandbox_record.h"
#include "terminal/command_cast.h"
#include "worker/worker.h"

struct command_recorder {
	struct worker_task task; /* first: the pool's callback gets it */
	struct worker_pool *workers;
	struct command_cast *cast;
	const char *id; /* NULL: the command has not started */
};

int command_recorder_new(struct request *rq, const struct api_target *t,
                         const struct command_recording *recording, struct command_recorder **ret,
                         struct error *err)
{
	const struct command_cast_options options = {
	        .project_id = t->record->project_id,
	        .sandbox_id = t->record->id,
	        .title = recording->title,
	        .who = api_caller_name(rq),
	        .rows = recording->rows,
	        .columns = recording->columns,
	};
	struct command_cast *cast;

	if (request_may_block(rq, err) < 0 ||
	    command_cast_new(api_of(rq)->terminals, &options, &cast, err) < 0)
		return -1;
	*ret = memory_new(sizeof(**ret));
	**ret = (struct command_recorder){
	        .workers = api_of(rq)->workers,
	        .cast = cast,
	        .task = {.shares = {[WORKER_PROJECT] = worker_share_id(options.project_id)}}};
	return 0;
}

void command_recorder_started(struct command_recorder *r, const struct agent_process *p)
{
	command_cast_started(r->cast, p->process);
	r->id = command_cast_id(r->cast);
}

void command_recorder_add(struct command_recorder *r, struct span bytes)
{
	command_cast_add(r->cast, bytes);
}

const char *command_recorder_id(const struct command_recorder *r)
{
	return r->id;
}

static void free_recorder(struct command_recorder *r)
{
	command_cast_free(r->cast);
	free(r);
}

static void run_recorder_task(struct worker_task *task)
{
	struct command_recorder *r = (struct command_recorder *)task;
	struct error err = {0};

	if (command_cast_store(r->cast, &err) < 0)
		log_warning("the recording of a command is lost", TEXT("recording", r->id),
		            FAILURE(&err));
	free_recorder(r);
}

void command_recorder_end(struct command_recorder *r)
{
	struct error err = {0};

	if (!r)
		return;
	r->task.lane = WORKER_FILES;
	r->task.run = run_recorder_task;
	if (r->id && worker_submit(r->workers, &r->task, &err) == 0)
		return;
	if (r->id)
		log_warning("the recording of a command is lost", TEXT("recording", r->id),
		            FAILURE(&err));
	free_recorder(r);
}
