/* SPDX-License-Identifier: Apache-2.0 */
/* http/hang_up.h — the end of a call whose client has hung up. */
#pragma once

struct cancel;
struct request;

/* Cancelled when the client hangs up while the handler runs: for calls that are of no use then.
 * NULL on the loop's thread, and for routes that must finish what they have begun: those that are
 * neither GET nor HEAD and have no ROUTE_CANCEL. A client that ends only its own side of the
 * connection counts as one that has hung up. Any thread of the request; lasts as long as it. */
const struct cancel *request_cancel(struct request *rq);
