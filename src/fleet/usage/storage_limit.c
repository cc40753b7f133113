/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/usage/storage_limit.h"

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/project_cache.h"
#include "fleet/usage/usage.h"
#include "provider/provider.h"
#include "store/projects.h"

#define MIB (INT64_C(1) << 20)
#define MEASURE_MS 30000

static int64_t limit_of(const struct fleet *f, const struct project_record *project)
{
	int64_t mb =
	        project->storage_max_mb > 0 ? project->storage_max_mb : f->config->storage_max_mb;

	return mb * MIB;
}

/* As it is now: a limit that an admin has just set holds. */
static int find_limit(struct fleet *f, const char *project_id, int64_t *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct project_record project;

	/* Shared things count for no project. */
	*ret = 0;
	if (!project_id || !*project_id)
		return 0;
	if (store_project_find(f->store, &arena, project_id, &project, err) < 0)
		return -1;
	*ret = limit_of(f, &project);
	return 0;
}

int storage_is_limited(struct fleet *f, struct arena *a, const char *project_id, bool *ret,
                       struct error *err)
{
	struct project_record project;

	if (project_find(f, a, project_id, &project, err) < 0)
		return -1;
	*ret = limit_of(f, &project) > 0;
	return 0;
}

static int64_t sum_of(const struct project_storage *s)
{
	return s->templates + s->snapshots + s->backups + s->volumes;
}

static int64_t round_up_mib(int64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

static int refuse_growth(const struct storage_claim *claim, const struct project_storage *used,
                         int64_t limit, struct error *err)
{
	(void)FAIL(err, ERROR_LIMIT,
	           "project '%.64s' keeps %lld MiB (templates %lld, snapshots %lld, backups %lld, "
	           "volumes %lld) of the %lld MiB that it may, and this would be more",
	           claim->project_id, (long long)round_up_mib(sum_of(used)),
	           (long long)round_up_mib(used->templates),
	           (long long)round_up_mib(used->snapshots), (long long)round_up_mib(used->backups),
	           (long long)round_up_mib(used->volumes), (long long)(limit / MIB));
	return FAIL_HINT(err, "delete some of these, or have storage_max_mb of the project raised");
}

/* The remaining bytes: INT64_MAX without a limit. */
static int read_usage(struct fleet *f, const struct storage_claim *claim,
                      struct project_storage *used, int64_t *ret_limit, struct error *err)
{
	const struct storage_look what = {claim->project_id, claim->id,
	                                  claim->begun_at > 0 ? claim->begun_at : INT64_MAX};

	if (find_limit(f, claim->project_id, ret_limit, err) < 0)
		return -1;
	return *ret_limit > 0 ? store_project_storage(f->store, &what, used, err) : 0;
}

int storage_check(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                  struct error *err)
{
	struct project_storage used = {.templates = 0};
	int64_t limit;

	if (read_usage(f, claim, &used, &limit, err) < 0)
		return -1;
	if (limit == 0 || sum_of(&used) + bytes <= limit)
		return 0;
	return refuse_growth(claim, &used, limit, err);
}

int storage_room(struct fleet *f, const struct storage_claim *claim, int64_t *ret_bytes,
                 struct error *err)
{
	struct project_storage used = {.templates = 0};
	int64_t limit;

	if (read_usage(f, claim, &used, &limit, err) < 0)
		return -1;
	if (limit > 0 && sum_of(&used) >= limit)
		return refuse_growth(claim, &used, limit, err);
	*ret_bytes = limit > 0 ? limit - sum_of(&used) : INT64_MAX;
	return 0;
}

/* A sandbox that another call measures now is skipped: its size is found later. */
static int measure_sandbox(struct fleet *f, const char *sandbox_id, uint64_t *ret,
                           struct error *err)
{
	*ret = 0;
	if (f->ops->measure(f->provider, PROVIDER_MEASURE_SANDBOX, sandbox_id,
	                    deadline_after(MEASURE_MS), ret, err) == 0)
		return 0;
	if (err->code != ERROR_UNAVAILABLE && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

int storage_expect(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                   struct error *err)
{
	int64_t room;

	if (storage_room(f, claim, &room, err) < 0)
		return -1;
	if (room == INT64_MAX)
		return 0;
	/* Written down first: of two at once the later look sees both. */
	if (bytes > 0 && store_holding_expect(f->store, claim->id, bytes, clock_unix_ms(), err) < 0)
		return -1;
	return storage_check(f, claim, bytes, err);
}

int storage_expect_files(struct fleet *f, const struct storage_claim *claim, const char *sandbox_id,
                         struct error *err)
{
	uint64_t bytes = 0;
	int64_t room;

	if (storage_room(f, claim, &room, err) < 0)
		return -1;
	if (room == INT64_MAX)
		return 0;
	if (f->ops->measure && measure_sandbox(f, sandbox_id, &bytes, err) < 0)
		return -1;
	return storage_expect(f, claim, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, err);
}

int fleet_project_storage(struct fleet *fleet, const char *project_id, struct fleet_storage *ret,
                          struct error *err)
{
	const struct storage_look all = {project_id, "", INT64_MAX};
	int64_t limit;

	if (find_limit(fleet, project_id, &limit, err) < 0 ||
	    store_project_storage(fleet->store, &all, &ret->of, err) < 0)
		return -1;
	ret->limit_mb = limit / MIB;
	ret->bytes = sum_of(&ret->of);
	return 0;
}
