/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_provider.h — the common part of the providers that use the broker: native
 * and host. They differ in their table and in the kind of sandbox. */
#pragma once

#include "provider/kinds.h"
#include "wire/broker_kind.h"

/* Copies `ops` and removes the abilities that this host lacks. */
MUST_CHECK int broker_provider_open(const struct provider_options *options,
                                    const struct provider_ops *ops, enum broker_kind kind,
                                    struct provider **ret, struct error *err);
void broker_provider_close(struct provider *p);
void broker_provider_last_calls(struct provider *p);
int broker_provider_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                           struct provider_created *ret, struct error *err);
struct provider_creation *broker_provider_create_begin(struct provider *p,
                                                       const struct sandbox_spec *spec);
int broker_provider_create_end(struct provider *p, struct provider_creation *creation,
                               int64_t deadline, struct provider_created *ret, struct error *err);
int broker_provider_destroy(struct provider *p, const char *id, int64_t deadline,
                            struct error *err);
int broker_provider_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                         struct error *err);
int broker_provider_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          struct provider_created *ret, struct error *err);
int broker_provider_pause(struct provider *p, const char *id, int64_t deadline, struct error *err);
int broker_provider_limit(struct provider *p, const char *id,
                          const struct sandbox_resources *resources, int64_t deadline,
                          struct error *err);
int broker_provider_resume(struct provider *p, const char *id, int64_t deadline, struct error *err);
int broker_provider_filter(struct provider *p, const char *id, const char *egress, int64_t deadline,
                           struct error *err);
/* A request of `type` whose answer is a list of BROKER_ENTRY. */
MUST_CHECK int broker_provider_list_entries(struct provider *p, uint16_t type, struct arena *a,
                                            struct provider_list *ret, struct error *err);
/* The same, without images of virtual machines and the sandboxes that make them. */
MUST_CHECK int broker_provider_list_others(struct provider *p, uint16_t type, struct arena *a,
                                           struct provider_list *ret, struct error *err);
/* A mount as broker_create and broker_volume say it. */
const char *broker_mount_text(struct arena *a, const struct sandbox_mount *m);
int broker_provider_list(struct provider *p, struct arena *a, struct provider_list *ret,
                         struct error *err);
int broker_provider_stats(struct provider *p, const char *id, struct provider_stats *ret,
                          struct error *err);
int broker_provider_measure(struct provider *p, enum provider_measured_kind kind, const char *id,
                            int64_t deadline, uint64_t *ret, struct error *err);
int broker_provider_health(struct provider *p, struct error *err);
int broker_provider_template(struct provider *p, const struct provider_template *request,
                             int64_t deadline, struct error *err);
/* The sandbox is about to be ended: on_ended is not called for it. */
void broker_provider_forget(struct provider *p, const char *id);
struct broker_client;
struct broker_client *broker_provider_client(struct provider *p);
extern const struct pool_ops broker_pools;
extern const struct snapshot_ops broker_snapshots;
extern const struct trash_ops broker_provider_trash;
extern const struct volume_ops broker_provider_volumes;
extern const struct compute_ops broker_provider_compute;
/* The same for sandboxes from which no descriptor comes out. */
extern const struct compute_ops broker_provider_carrying_compute;

/* The rows that both tables share. */
MUST_CHECK int broker_provider_probe(struct provider *p, const struct provider_probe *probe,
                                     int64_t deadline, struct error *err);

#define BROKER_PROVIDER_OPS                                                                        \
	.place = "broker", .close = broker_provider_close,                                         \
	.last_calls = broker_provider_last_calls, .create = broker_provider_create,                \
	.create_begin = broker_provider_create_begin, .create_end = broker_provider_create_end,    \
	.destroy = broker_provider_destroy, .stop = broker_provider_stop,                          \
	.start = broker_provider_start, .pause = broker_provider_pause,                            \
	.resume = broker_provider_resume, .limit = broker_provider_limit,                          \
	.list = broker_provider_list, .stats = broker_provider_stats,                              \
	.measure = broker_provider_measure, .health = broker_provider_health,                      \
	.probe = broker_provider_probe, .template_make = broker_provider_template,                 \
	.trash = &broker_provider_trash
