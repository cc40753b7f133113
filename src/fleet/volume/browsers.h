/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/volume/browsers.h — small sandboxes without a row, each with one volume. Through them calls
 * read and write the files of a volume that no running sandbox has. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct error;
struct browsers;
struct fleet;
struct volume_operation;

struct browsers *browsers_new(void);
void browsers_free(struct browsers *b);

/* ERROR_CONFLICT, naming the sandbox, while a sandbox that runs or starts has the volume. */
MUST_CHECK int volume_check_unused(const struct volume_operation *v, struct error *err);

/* The caller of the next three has an operation on the volume. */

/* How long a transfer may go on when a sandbox wants the volume. */
#define BROWSER_CLOSE_MS 5000
/* Waits for the transfers of a volume; false if some go on at the deadline. */
bool browser_await_transfers(struct fleet *f, const char *volume_id, int64_t deadline);
/* Ends the browser of the volume, if there is one, and cuts off its transfers. */
MUST_CHECK int browser_end(struct fleet *f, const char *volume_id, struct error *err);
/* browser_end once the transfers are over, or after BROWSER_CLOSE_MS. */
MUST_CHECK int browser_close(struct fleet *f, const char *volume_id, struct error *err);

/* The provider reports that a sandbox has ended: if it was a browser, the next call opens another.
 */
void browsers_on_ended(struct fleet *f, const char *sandbox_id);
/* Ends browsers that are idle; `all`: every one. */
void browsers_tidy(struct fleet *f, bool all);
