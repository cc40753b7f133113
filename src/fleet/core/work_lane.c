/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/work_lane.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

/* Of the lane's list while it has tasks, in the order of turns. */
struct work_lane_project {
	struct list item;
	struct list waiting; /* of work_lane_task.item */
	unsigned waiting_count, running;
	char id[];
};

struct work_lane {
	struct work_lane_options options;
	pthread_mutex_t mutex;    /* over all below */
	pthread_cond_t idle;      /* nothing runs or waits */
	struct worker_pool *pool; /* NULL until the first task comes */
	struct list projects;
	unsigned running, waiting;
};

struct work_lane *work_lane_new(const struct work_lane_options *options)
{
	struct work_lane *lane = memory_new(sizeof(*lane));

	assert(options->at_once <= LANE_AT_ONCE_MAX);
	lane->options = *options;
	if (!lane->options.at_once)
		lane->options.at_once = 1;
	list_init(&lane->projects);
	pthread_mutex_init(&lane->mutex, NULL);
	pthread_cond_init(&lane->idle, NULL);
	return lane;
}

void work_lane_wait(struct work_lane *lane)
{
	if (!lane)
		return;
	pthread_mutex_lock(&lane->mutex);
	while (lane->running > 0 || lane->waiting > 0)
		pthread_cond_wait(&lane->idle, &lane->mutex);
	pthread_mutex_unlock(&lane->mutex);
}

void work_lane_free(struct work_lane *lane)
{
	if (!lane)
		return;
	work_lane_wait(lane);
	worker_pool_stop(lane->pool);
	pthread_cond_destroy(&lane->idle);
	pthread_mutex_destroy(&lane->mutex);
	free(lane);
}

static struct work_lane_project *find_project(struct work_lane *lane, const char *id)
{
	struct work_lane_project *project;
	size_t size = strlen(id);

	LIST_EACH (&lane->projects, struct work_lane_project, known, item)
		if (strcmp(known->id, id) == 0)
			return known;
	project = memory_new(sizeof(*project) + size + 1);
	memcpy(project->id, id, size);
	list_init(&project->waiting);
	list_append(&lane->projects, &project->item);
	return project;
}

static void drop_if_empty(struct work_lane_project *project)
{
	if (project->waiting_count > 0 || project->running > 0)
		return;
	list_remove(&project->item);
	free(project);
}

static bool has_turn(const struct work_lane *lane, const struct work_lane_project *project)
{
	unsigned at_once = lane->options.at_once;

	if (project->waiting_count == 0 || project->running >= at_once)
		return false;
	return lane->running < at_once ||
	       (lane->running < at_once + LANE_SPARE && project->running == 0);
}

static struct work_lane_task *choose_task(struct work_lane *lane)
{
	LIST_EACH (&lane->projects, struct work_lane_project, project, item) {
		struct list *first = project->waiting.next;

		if (!has_turn(lane, project))
			continue;
		assert(project->waiting_count > 0 && lane->waiting > 0);
		list_remove(first);
		project->waiting_count--;
		project->running++;
		lane->waiting--;
		lane->running++;
		/* To the end of the list: the other projects have waited longer. */
		list_remove(&project->item);
		list_append(&lane->projects, &project->item);
		return LIST_ENTRY(first, struct work_lane_task, item);
	}
	return NULL;
}

/* The pool has a thread for each task that may run, and room for it to be handed over. */
static void start_tasks(struct work_lane *lane)
{
	struct work_lane_task *task;
	struct error err = {0};

	while ((task = choose_task(lane)))
		if (worker_submit(lane->pool, &task->task, &err) < 0)
			abort();
}

static void run_task(struct worker_task *worker_task)
{
	struct work_lane_task *task = CONTAINER_OF(worker_task, struct work_lane_task, task);
	struct work_lane_project *project = task->project;
	struct work_lane *lane = task->lane;

	task->run(task);
	pthread_mutex_lock(&lane->mutex);
	assert(lane->running > 0 && project->running > 0);
	lane->running--;
	project->running--;
	drop_if_empty(project);
	start_tasks(lane);
	if (lane->running == 0 && lane->waiting == 0)
		pthread_cond_broadcast(&lane->idle);
	pthread_mutex_unlock(&lane->mutex);
}

static int open_pool(struct work_lane *lane, struct error *err)
{
	unsigned threads = lane->options.at_once + LANE_SPARE;
	const struct worker_options options = {.threads = threads, .queue_max = 2 * threads};

	return lane->pool ? 0 : worker_pool_start(&options, &lane->pool, err);
}

static int enqueue_task(struct work_lane *lane, struct work_lane_task *task, const char *project_id,
                        struct error *err)
{
	const struct work_lane_options *options = &lane->options;
	struct work_lane_project *project;

	if (open_pool(lane, err) < 0)
		return -1;
	project = find_project(lane, project_id);
	if (project->waiting_count >= options->waiting_project_max ||
	    lane->waiting >= options->waiting_max) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "%u %s wait already, %u of them this project's",
		           lane->waiting, options->what, project->waiting_count);
		error_hint(err, "try again when some have ended");
		drop_if_empty(project);
		return -1;
	}
	task->task = (struct worker_task){.lane = WORKER_FAST, .run = run_task};
	task->lane = lane;
	task->project = project;
	list_init(&task->item);
	list_append(&project->waiting, &task->item);
	project->waiting_count++;
	lane->waiting++;
	start_tasks(lane);
	return 0;
}

int work_lane_submit(struct work_lane *lane, struct work_lane_task *task, const char *project_id,
                     struct error *err)
{
	int result;

	assert(task->run);
	pthread_mutex_lock(&lane->mutex);
	result = enqueue_task(lane, task, project_id, err);
	pthread_mutex_unlock(&lane->mutex);
	return result;
}

struct work_lane_load work_lane_load_get(struct work_lane *lane)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&lane->mutex);

	return (struct work_lane_load){lane->running, lane->waiting};
}
