/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/native/broker_client.h"
#include "provider/native/broker_provider.h"
#include "provider/volume.h"
#include "wire/broker.h"
#include "wire/broker_volume.h"

const char *broker_mount_text(struct arena *a, const struct sandbox_mount *m)
{
	bool is_whole = !m->subpath || !m->subpath[0];

	return arena_format(a, "%s:%s:%s%s%s", m->volume_id, m->is_read_only ? "ro" : "rw", m->path,
	                    is_whole ? "" : "//", is_whole ? "" : m->subpath);
}

static const enum broker_volume_verb wire_volume_verbs[] = {
        [PROVIDER_VOLUME_MAKE] = BROKER_VOLUME_MAKE,
        [PROVIDER_VOLUME_REMOVE] = BROKER_VOLUME_REMOVE,
        [PROVIDER_VOLUME_LOOK] = BROKER_VOLUME_LOOK,
        [PROVIDER_VOLUME_GROW] = BROKER_VOLUME_GROW,
        [PROVIDER_VOLUME_ATTACH] = BROKER_VOLUME_ATTACH,
        [PROVIDER_VOLUME_DETACH] = BROKER_VOLUME_DETACH,
};

static int list_volumes(struct provider *p, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	return broker_provider_list_entries(p, BROKER_VOLUMES, a, ret, err);
}

static int run_volume(struct provider *p, const struct provider_volume *request, int64_t deadline,
                      struct provider_volume_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct sandbox_mount mount = {request->id, request->path, request->is_read_only,
	                                    request->subpath};
	struct broker_volume message = {
	        .verb = wire_volume_verbs[request->verb],
	        .volume = request->id,
	        .size_bytes = (uint64_t)request->size_mb << 20,
	        .sandbox = request->sandbox_id,
	        .mount = request->sandbox_id ? broker_mount_text(&a, &mount) : NULL,
	        .forced = request->is_forced,
	};
	struct broker_volume_state state;
	struct broker_call call = {
	        .type = BROKER_VOLUME,
	        .shape = broker_volume_shape,
	        .message = &message,
	        .may_repeat = true,
	        WIRE_REPLY(BROKER_VOLUME_STATE, broker_volume_state_shape, state),
	        .arena = &a,
	};

	if (broker_client_call(broker_provider_client(p), &call, deadline, err) < 0)
		return -1;
	*ret = (struct provider_volume_state){.size_is_advisory = state.size_is_advisory,
	                                      .used_bytes = state.used_bytes};
	return 0;
}

const struct volume_ops broker_provider_volumes = {.run = run_volume, .list = list_volumes};
