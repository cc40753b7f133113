/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/flatten.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/merge.h"

#define ENTRIES_MAX 2000000
#define DEPTH_MAX 500
#define SECONDS_MAX 600 /* of processor time, then the child ends */

/* ---- layers that are mounted ---- */

static void mounted_path(char out[64], const char *sandbox)
{
	(void)snprintf(out, 64, "%s/" MOUNTED_LINK, sandbox);
}

void flattening_unpin(struct chains *c, const char *sandbox)
{
	char path[64];

	/* Mostly there is none, and nothing to be asked of the disk. */
	if (!chains_of_role(c, sandbox, CHAIN_MOUNTED))
		return;
	mounted_path(path, sandbox);
	(void)unlinkat(c->host->folders[FOLDER_RUN_SANDBOXES], path, 0);
	chains_set_role(c, sandbox, CHAIN_MOUNTED, NULL);
}

static bool is_pinned(const struct host *host, const char *sandbox)
{
	char path[64];

	mounted_path(path, sandbox);
	return faccessat(host->folders[FOLDER_RUN_SANDBOXES], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether its chain may be another one from now on. One that has mounted layers which were replaced
 * once keeps to that until it has another root: the link has room for one chain. */
static bool may_replace(const struct flattening *f, const char *sandbox)
{
	const struct box *box = boxes_find(f->boxes, sandbox);

	if (snapshots_is_busy(f->snapshots, sandbox))
		return false;
	return !box || (box->state == BOX_RUNNING && !is_pinned(f->boxes->host, sandbox));
}

static bool on_replace(void *context, const char *sandbox, const struct chain *old)
{
	struct flattening *f = context;
	struct host *host = f->boxes->host;
	struct error err = {0};
	char path[64];

	if (!may_replace(f, sandbox)) {
		if (!is_pinned(host, sandbox))
			memcpy(f->put_off, sandbox, sizeof(f->put_off));
		return false;
	}
	if (!boxes_find(f->boxes, sandbox))
		return true;
	mounted_path(path, sandbox);
	if (chain_write(host->folders[FOLDER_RUN_SANDBOXES], path, old, &err) < 0) {
		log_warning("a chain stays long", TEXT("sandbox", sandbox), FAILURE(&err));
		return false;
	}
	chains_set_role(f->boxes->chains, sandbox, CHAIN_MOUNTED, old);
	return true;
}

/* ---- the child ---- */

static int open_layer(const struct host *host, const char *id, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", id);
	*ret_fd = openat(host->folders[FOLDER_SNAPSHOTS], path,
	                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open layer '%s'", id) : 0;
}

/* The process ends soon, and closes what it has. */
static int merge(const struct flattening *f, struct error *err)
{
	static const struct merge_limits limits = {ENTRIES_MAX, DEPTH_MAX};
	static const struct chain none = {.count = 0};
	const struct host *host = f->boxes->host;
	int layers[CHAIN_MAX], to;

	for (unsigned i = 0; i < f->chain.count; i++)
		if (open_layer(host, f->chain.ids[i], &layers[i], err) < 0)
			return -1;
	if (snapshot_make_folder(
	            host, FOLDER_SNAPSHOTS, f->merged,
	            &(struct snapshot_folder){.chain = &none, .like = layers[0], .is_linked = true},
	            err) < 0 ||
	    open_layer(host, f->merged, &to, err) < 0)
		return -1;
	fault_point("broker", "flatten-folder");
	if (merge_layers(layers, f->chain.count, to, &limits, err) < 0)
		return -1;
	fault_point("broker", "flatten-merged");
	return syncfs(to) < 0 ? FAIL_ERRNO(err, "bring a layer to the disk") : 0;
}

static int run(void *context)
{
	const struct flattening *f = context;
	const struct rlimit limit = {SECONDS_MAX, SECONDS_MAX};
	struct error err = {0};

	(void)umask(0);
	job_give_way();
	(void)setrlimit(RLIMIT_CPU, &limit);
	if (merge(f, &err) == 0)
		return 0;
	log_warning("layers are not merged", TEXT("layer", f->chain.ids[0]), FAILURE(&err));
	return 1;
}

/* ---- one after the other ---- */

static void end(struct flattening *f)
{
	f->is_running = false;
	chains_set_role(f->boxes->chains, f->merged, CHAIN_MERGED, NULL);
}

static void on_end(struct job *job, int status)
{
	struct flattening *f = CONTAINER_OF(job, struct flattening, job);
	struct error err = {0};

	f->put_off[0] = '\0';
	if (status == 0)
		chains_replace(f->boxes->chains, f->chain.ids[0], f->merged, on_replace, f);
	else if (host_trash(f->boxes->host, FOLDER_SNAPSHOTS, f->merged, &err) < 0)
		log_warning("half a layer is left until the next start", FAILURE(&err));
	fault_point("broker", "flatten-replaced");
	if (*f->put_off)
		(void)map_remove(&f->tried, f->chain.ids[0]);
	end(f);
	flattening_look(f);
}

/* Calls with each chain that there is; the layers that it has in common with others are the lower
 * ones, and the top one is the newest. */
static bool is_wanted(void *context, const char *sandbox, const struct chain *chain)
{
	const struct flattening *f = context;

	return chain->count > CHAIN_LONG && !map_find(&f->tried, chain->ids[1]) &&
	       (!sandbox || may_replace(f, sandbox));
}

/* It may be gone by now, or have mounted what keeps it from another chain. */
static bool is_put_off(const struct flattening *f)
{
	const struct chain *chain = chains_of(f->boxes->chains, f->put_off);

	return chain && chain->count > CHAIN_LONG && !is_pinned(f->boxes->host, f->put_off);
}

void flattening_look(struct flattening *f)
{
	struct id id = id_new();
	struct error err = {0};
	struct chain chain;

	f->is_due = false;
	if (*f->put_off && !is_put_off(f))
		f->put_off[0] = '\0';
	if (f->is_running || !chains_search(f->boxes->chains, is_wanted, f, &chain))
		return;
	f->chain.count = chain.count - 1;
	memcpy(f->chain.ids, chain.ids[1], f->chain.count * sizeof(chain.ids[0]));
	memcpy(f->merged, id.text, sizeof(f->merged));
	(void)map_put(&f->tried, f->chain.ids[0], f);
	chains_set_role(f->boxes->chains, f->merged, CHAIN_MERGED, &f->chain);
	f->is_running = true;
	f->job.on_end = on_end;
	if (job_start(f->boxes->events, &f->job, run, f, &err) == 0)
		return;
	log_warning("layers are not merged", FAILURE(&err));
	end(f);
}

void flattening_on_change(struct flattening *f)
{
	f->is_due = *f->put_off;
}

void flattening_init(struct flattening *f, struct boxes *boxes, struct snapshots *snapshots)
{
	*f = (struct flattening){.boxes = boxes, .snapshots = snapshots};
}

void flattening_close(struct flattening *f)
{
	struct error ignored = {0};

	if (f->is_running) {
		job_cancel(&f->job);
		(void)!host_trash(f->boxes->host, FOLDER_SNAPSHOTS, f->merged, &ignored);
		end(f);
	}
	map_done(&f->tried);
}
