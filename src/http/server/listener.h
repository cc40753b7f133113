/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/listener.h — the server's listening sockets; server_listen_fd is in http.h. */
#pragma once

struct http_server;
void listeners_close(struct http_server *server);
