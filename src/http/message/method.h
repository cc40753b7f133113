/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/method.h — the methods that routes name. */
#pragma once

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_PATCH,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_ANY
};
extern const char *const http_method_names[HTTP_ANY];
