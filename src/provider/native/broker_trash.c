/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "provider/native/broker_client.h"
#include "provider/native/broker_provider.h"
#include "provider/trash.h"
#include "wire/broker.h"
#include "wire/broker_trash.h"

#define LIST_MS 30000
#define ENTRIES_MAX 100000

static const enum broker_trash_kind wire_kinds[] = {
        [PROVIDER_TRASH_SANDBOX] = BROKER_TRASH_SANDBOX,
        [PROVIDER_TRASH_SNAPSHOT] = BROKER_TRASH_SNAPSHOT,
        [PROVIDER_TRASH_LAYER] = BROKER_TRASH_LAYER,
};
static const enum broker_trash_reason wire_reasons[] = {
        [PROVIDER_TRASH_ORPHAN] = BROKER_TRASH_ORPHAN,
        [PROVIDER_TRASH_DELETED] = BROKER_TRASH_DELETED,
};

static bool kind_of_broker(uint32_t kind, enum provider_trash_kind *ret)
{
	for (unsigned i = 0; i < COUNT_OF(wire_kinds); i++) {
		if (wire_kinds[i] != kind)
			continue;
		*ret = (enum provider_trash_kind)i;
		return true;
	}
	return false;
}

static bool reason_of_broker(uint32_t reason, enum provider_trash_reason *ret)
{
	for (unsigned i = 0; i < COUNT_OF(wire_reasons); i++) {
		if (wire_reasons[i] != reason)
			continue;
		*ret = (enum provider_trash_reason)i;
		return true;
	}
	return false;
}

static int call_trash(struct provider *p, struct broker_trash *message, int64_t deadline,
                      struct error *err)
{
	const struct broker_call call = {BROKER_TRASH, broker_trash_shape, message,
	                                 .may_repeat = message->verb != BROKER_TRASH_BACK};

	return broker_client_call(broker_provider_client(p), &call, deadline, err);
}

static int put_in_trash(struct provider *p, const struct provider_trash *what, int64_t deadline,
                        struct error *err)
{
	struct broker_trash message = {.verb = BROKER_TRASH_PUT,
	                               .kind = wire_kinds[what->kind],
	                               .id = what->id,
	                               .reason = wire_reasons[what->reason],
	                               .keep_s = (uint64_t)(what->keep_ms + 999) / 1000};

	if (what->kind == PROVIDER_TRASH_SANDBOX)
		broker_provider_forget(p, what->id);
	return call_trash(p, &message, deadline, err);
}

static int restore_entry(struct provider *p, const struct provider_trash *what, int64_t deadline,
                         struct error *err)
{
	struct broker_trash message = {
	        .verb = BROKER_TRASH_BACK, .kind = wire_kinds[what->kind], .id = what->id};

	return call_trash(p, &message, deadline, err);
}

static int purge_entry(struct provider *p, const struct provider_trash *what, int64_t deadline,
                       struct error *err)
{
	struct broker_trash message = {
	        .verb = BROKER_TRASH_PURGE, .kind = wire_kinds[what->kind], .id = what->id};

	return call_trash(p, &message, deadline, err);
}

static int note_entry(void *context, const void *reply, struct error *err)
{
	const struct broker_trash_entry *from = reply;
	struct provider_trash_entry entry = {
	        .until = (int64_t)from->until_s * 1000,
	        .size_bytes = from->bytes == UINT64_MAX ? -1 : (int64_t)from->bytes,
	};

	if (!id_is_valid(from->id) || !kind_of_broker(from->kind, &entry.kind) ||
	    !reason_of_broker(from->reason, &entry.reason))
		return FAIL(err, ERROR_SYSTEM, "the broker lists '%s' of kind %u in the trash",
		            from->id, from->kind);
	memcpy(entry.id, from->id, ID_SIZE);
	buf_add(context, &entry, sizeof(entry));
	return 0;
}

static int list_trash(struct provider *p, const struct provider_trash_bounds *bounds,
                      struct arena *a, struct provider_trash_list *ret, struct error *err)
{
	AUTO(buf_done)
	struct buf entries = BUF(ENTRIES_MAX * sizeof(struct provider_trash_entry));
	struct broker_trash message = {.verb = BROKER_TRASH_LIST,
	                               .id = "",
	                               .bytes_max = (uint64_t)bounds->bytes_max,
	                               .back_s = (uint64_t)(bounds->back_ms + 999) / 1000};
	struct broker_trash_entry entry;
	const struct broker_call call = {
	        .type = BROKER_TRASH,
	        .shape = broker_trash_shape,
	        .message = &message,
	        .may_repeat = false,
	        WIRE_REPLY(BROKER_TRASH_ENTRY, broker_trash_entry_shape, entry),
	        .arena = a,
	        .on_entry = note_entry,
	        .context = &entries,
	};

	if (broker_client_call(broker_provider_client(p), &call, deadline_after(LIST_MS), err) < 0)
		return -1;
	if (entries.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d entries in the trash", ENTRIES_MAX);
	ret->count = entries.size / sizeof(struct provider_trash_entry);
	ret->items = (void *)arena_copy(a, buf_span(&entries));
	return 0;
}

const struct trash_ops broker_provider_trash = {
        .put = put_in_trash,
        .bring_back = restore_entry,
        .purge = purge_entry,
        .list = list_trash,
};
