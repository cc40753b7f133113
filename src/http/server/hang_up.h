/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/hang_up.h — cancels a call whose client has hung up. */
#pragma once

struct cancel;
struct request;

/* The cancellation of the request's calls; set when the client hangs up while the handler runs.
 * NULL on the loop thread, and for routes that must complete their work: methods other than GET and
 * HEAD without ROUTE_CANCEL. A client that closes only its sending side counts as hung up. Usable
 * from any thread of the request, as long as the request lives. */
const struct cancel *request_cancel(struct request *rq);
