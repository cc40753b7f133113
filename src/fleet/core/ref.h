/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/ref.h — how a call names a thing of a project. */
#pragma once

struct fleet_awaited;
struct fleet_use;

struct fleet_ref {
	const char *project_id;
	const char *id_or_name;              /* of a sandbox, a template, a snapshot … */
	const struct fleet_use *use;         /* what fleet_hold meters; NULL: nothing */
	const struct fleet_awaited *awaited; /* NULL: the thread waits; else see waiting.h */
};
