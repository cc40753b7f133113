/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/images.h — requests that start the program atoll-image. */
#pragma once

#include "base/error.h"

struct broker;
struct request_context;

/* BROKER_TEMPLATE: makes or removes a template. The reply comes later unless the call fails. Takes
 * the descriptors. */
MUST_CHECK int template_start(const struct request_context *c, const void *message,
                              struct error *err);
void templates_kill(struct broker *b);
/* BROKER_BACKUP: packs or unpacks a snapshot. The same. */
MUST_CHECK int backup_start(const struct request_context *c, const void *message,
                            struct error *err);
void backups_kill(struct broker *b);
