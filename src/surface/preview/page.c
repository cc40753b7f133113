/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/preview/serve.h"

#include "base/bytes.h"

bool preview_may_retry(const struct error *err)
{
	return error_kind_get(err->code)->may_retry || err->code == ERROR_CONFLICT;
}

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			buf_add_text(out, "&lt;");
		else if (*text == '&')
			buf_add_text(out, "&amp;");
		else
			buf_add_byte(out, *text);
	}
}

void preview_write_page(struct buf *out, const struct error *err, bool retries)
{
	buf_add_text(out, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	                  "<meta name=\"viewport\" content=\"width=device-width\">");
	if (retries)
		buf_add_text(out, "<meta http-equiv=\"refresh\" content=\"2\">");
	buf_add_text(out, "<title>Preview</title><style>body{font:16px/1.5 system-ui,sans-serif;"
	                  "max-width:36em;margin:15vh auto;padding:0 1em;color:#223}"
	                  "h1{font-size:1.3em}p{color:#556}</style></head><body><h1>");
	buf_add_text(out, retries ? "The preview is not ready yet" : "There is no preview here");
	buf_add_text(out, "</h1><p>");
	add_escaped(out, err->text);
	buf_add_text(out, ".</p><p>");
	add_escaped(out, err->hint);
	buf_add_text(out, "</p>");
	if (retries)
		buf_add_text(out, "<p>This page reloads every two seconds.</p>");
	buf_add_text(out, "</body></html>\n");
}
