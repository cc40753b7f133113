/* SPDX-License-Identifier: Apache-2.0 */
/* edge/access_watch.h — ends open streams whose caller has lost access.
 *
 * A request is authorized once, but a terminal or an event stream may last for days. So this server
 * authorizes the callers of open streams again: at once after a change that it makes itself, and
 * every ACCESS_CHECK_MS for changes of other servers and for expiry. A worker does this with one
 * query for each different caller. An open stream is no use of its session.
 *
 * The same passes cut off calls of a run or a conversation whose budget is spent.
 *
 * When the store cannot answer, the streams go on until it can. */
#pragma once

#include <stdint.h>

#define ACCESS_CHECK_MS 1000

struct access_watch;
struct api;

/* Starts its timer on api->loop. */
struct access_watch *access_watch_new(struct api *api);
/* After server_close and the end of the workers. NULL is fine. */
void access_watch_free(struct access_watch *w);
/* Streams ended since the start of this server. Any thread. */
uint64_t access_watch_ended(const struct access_watch *w);

/* Call it after each change that may take access away from a key, a session, a user or a member.
 * Forgets cached keys and checks the open streams soon after. Any thread. */
void api_access_changed(struct api *api);
