/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_backup.h — snapshots to and from files: a part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

/* A snapshot to and from one file. Descriptors: for progress lines, a small file that says
 * of what and then what was found (image/backup.h), and the archive. */
enum broker_backup_verb {
	BROKER_BACKUP_EXPORT,
	BROKER_BACKUP_LOAD,   /* makes the snapshot */
	BROKER_BACKUP_VERIFY, /* touches nothing */
};
struct broker_backup {
	uint64_t request;
	uint32_t verb;
	const char *snapshot;      /* "" for VERIFY */
	const char *template_name; /* its folder; "" = on whatever it was made */
	uint64_t size_max;         /* bytes of all files */
	uint32_t full;             /* EXPORT: with the template, which is not "host" */
};

extern const struct wire_member broker_backup_shape[];
