/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_backup.h — writes snapshots to files and reads them back: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

/* Three descriptors: a pipe for progress lines; a small file that describes the request, and then
 * the result (image/backup.h); the archive. */
enum broker_backup_verb {
	BROKER_BACKUP_EXPORT,
	BROKER_BACKUP_LOAD,   /* makes the snapshot */
	BROKER_BACKUP_VERIFY, /* changes nothing */
};
struct broker_backup {
	uint64_t request;
	uint32_t verb;
	const char *snapshot;      /* "" for VERIFY */
	const char *template_name; /* its folder; "" = the template of the archive */
	uint64_t size_max;         /* bytes of all files */
	uint32_t full;             /* EXPORT: includes the template, which must not be "host" */
};

extern const struct wire_member broker_backup_shape[];
