/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/audit_export.h — private: a page of an export of the audit. */
#pragma once

#include "store/audit.h"

struct audit_log;

#define AUDIT_EXPORT_ROWS_MAX 1000
#define AUDIT_EXPORT_BYTES_MAX ((size_t)4 << 20) /* a page may exceed it by one row */

struct audit_export {
	struct arena *arena;
	struct store *store;
	struct audit_log *log;
	struct audit_filter filter; /* rows that it leaves out are hidden: their digests only */
	bool begins;                /* the first page: with head and base */
	int64_t after;              /* of a later page */
	int64_t from;               /* of the first page; 0 = everything that is kept */
	struct buf *out;
	int64_t next; /* set: `after` of the next page; 0 = the export is whole */
};
/* The last page ends with a checkpoint that is signed now if necessary. */
MUST_CHECK int audit_export_write(struct audit_export *e, struct error *err);
