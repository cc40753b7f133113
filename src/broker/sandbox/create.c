/* SPDX-License-Identifier: Apache-2.0 */
/* From a create or start request to a running sandbox. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/layers/root.h"
#include "broker/layers/stacks.h"
#include "broker/network/network.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/limit.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/probe.h"
#include "broker/sandbox/review.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"
#include "broker/volume/mount.h"
#include "wire/broker_kind.h"
#include "wire/broker_sandbox.h"

static bool sandbox_has_files(const struct sandboxes *b, const char *id)
{
	return faccessat(b->host->folders[FOLDER_SANDBOXES], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_new(const struct sandboxes *b, const struct broker_create *request, bool restart,
                     struct error *err)
{
	if (sandboxes_find(b, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", request->sandbox);
	if (sandbox_has_files(b, request->sandbox) != restart)
		return FAIL(err, restart ? ERROR_NOT_FOUND : ERROR_CONFLICT,
		            restart ? "sandbox '%s' has no files to start from"
		                    : "sandbox '%s' has files already",
		            request->sandbox);
	if (restart && b->is_busy(b->context, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken",
		            request->sandbox);
	if (request->network && broker_kind_is_isolated(request->kind) &&
	    !b->host->network->usable) {
		*err = b->host->network->problem;
		return -1;
	}
	if (request->kind == BROKER_GVISOR && !host_has_gvisor(b->host, err))
		return -1;
	if (request->has_kvm && !host_has_kvm(b->host, err))
		return -1;
	return host_check_room(b->host, !restart, err);
}

/* Marks the layers below the new sandbox as in use. */
static int take_stack(struct sandboxes *b, const struct broker_create *request, struct error *err)
{
	struct layer_stack stack;

	if (!*request->snapshot)
		return 0;
	if (layer_stacks_find(b->stacks, request->snapshot, &stack, err) < 0)
		return -1;
	layer_stacks_set(b->stacks, request->sandbox, &stack);
	return 0;
}

static int take_review(struct sandboxes *b, const struct broker_create *request,
                       struct layer_review **ret, struct error *err)
{
	struct layer_review *review;

	if (!request->review || !*request->review)
		return 0;
	review = memory_new(sizeof(*review));
	if (review_parse(request->review, review, err) == 0 &&
	    review_begin(review, b, request->sandbox, err) == 0) {
		*ret = review;
		return 0;
	}
	free(review);
	return -1;
}

/* No prepared sandbox fits a restart, which has its own files, or volumes, which come with the
 * plan. */
static struct sandbox *find_prepared(struct sandboxes *b, const struct broker_create *request)
{
	const struct layer_stack *stack = layer_stacks_of(b->stacks, request->sandbox);
	struct blueprint wanted = {.internet = request->network != 0,
	                           .privileges = request->privileges != 0,
	                           .limits = sandbox_limits_of(request),
	                           .disk_bytes = request->disk_bytes};

	if (request->kind != BROKER_NATIVE || request->has_kvm ||
	    (request->volumes && request->volumes[0]) || (request->review && *request->review))
		return NULL;
	(void)snprintf(wanted.template_name, sizeof(wanted.template_name), "%s",
	               request->template_name);
	(void)snprintf(wanted.warm, sizeof(wanted.warm), "%s", request->warm ? request->warm : "");
	if (stack)
		wanted.stack = *stack;
	return pools_take(b->pools, &wanted);
}

static struct sandbox *new_from_request(struct sandboxes *b, const struct broker_create *request)
{
	struct sandbox *sandbox = sandbox_new(b, "");

	sandbox->kind = request->kind;
	sandbox->internet = request->network != 0;
	sandbox->privileges = request->privileges != 0;
	sandbox->has_kvm = request->has_kvm != 0;
	sandbox->disk_is_advisory = true;
	sandbox->disk_bytes = request->disk_bytes;
	sandbox->limits = sandbox_limits_of(request);
	(void)snprintf(sandbox->template_name, sizeof(sandbox->template_name), "%s",
	               request->template_name);
	sandbox->volumes = volume_mounts_new(request->volumes, &sandbox->volume_count);
	return sandbox;
}

/* A sandbox without a link reaches nothing, so it needs no rules. */
static char *copy_egress(const struct broker_create *request)
{
	if (!request->egress || !*request->egress || !request->network)
		return NULL;
	return memory_text(request->egress);
}

int sandboxes_create(struct sandboxes *b, const struct pending_reply *reply,
                     const struct broker_create *request, bool restart, struct error *err)
{
	const struct cgroup_limits limits = sandbox_limits_of(request);
	int64_t asked_us = clock_monotonic_ns() / 1000;
	struct layer_review *review = NULL;
	struct sandbox *sandbox;

	if (check_new(b, request, restart, err) < 0 || take_review(b, request, &review, err) < 0 ||
	    take_stack(b, request, err) < 0)
		return -1;
	sandbox = restart || probe_is_id(request->sandbox) ? NULL : find_prepared(b, request);
	if (!sandbox)
		sandbox = new_from_request(b, request);
	if (!probe_is_id(request->sandbox))
		prewarm_pool_note(b->prewarm_pool,
		                  &(struct prewarm_guess){
		                          request->template_name,
		                          layer_stacks_of(b->stacks, request->sandbox), &limits});
	sandbox->review = review;
	sandbox->egress = copy_egress(request);
	sandbox->restart = restart;
	(void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", request->sandbox);
	(void)snprintf(sandbox->hostname, sizeof(sandbox->hostname), "%s", request->hostname);
	(void)snprintf(sandbox->owner, sizeof(sandbox->owner), "%s",
	               request->owner ? request->owner : "");
	sandbox->lease_epoch = request->lease_epoch;
	sandbox->steps[0] = '\0';
	sandbox->asked_us = sandbox->step_us = asked_us;
	(void)map_put(&b->by_id, sandbox->id, sandbox);
	sandbox_add_reply(sandbox, reply);
	if (sandbox_start(sandbox, err) == 0)
		return 0;
	if (!restart)
		sandbox_files_forget(b, request->sandbox);
	sandbox_free(sandbox);
	return -1;
}
