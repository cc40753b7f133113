/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/images.h — requests that start the program atoll-image. */
#pragma once

#include "base/error.h"

struct broker;
struct broker_backup;
struct broker_template;
struct pending_reply;
struct wire_fds;

/* BROKER_TEMPLATE: makes or removes a template. The reply comes later unless the call fails. Takes
 * the descriptors. */
MUST_CHECK int template_start(struct broker *b, const struct pending_reply *reply,
                              const struct broker_template *request, struct wire_fds *fds,
                              struct error *err);
void templates_kill(struct broker *b);
/* BROKER_BACKUP: packs or unpacks a snapshot. The same. */
MUST_CHECK int backup_start(struct broker *b, const struct pending_reply *reply,
                            const struct broker_backup *request, struct wire_fds *fds,
                            struct error *err);
void backups_kill(struct broker *b);
