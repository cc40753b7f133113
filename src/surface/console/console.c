/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the web console: files with a hash in their name for ever, its page with a policy of its
 * own. A path below /console whose last part has no '.' is a place inside the page, and so is every
 * path of a project. */
#include <string.h>

#include "base/random.h"
#include "config/config.h"
#include "edge/api.h"
#include "surface/console/files.h"
#include "surface/console/routes.h"

#define PAGE "index.html"
#define ASSETS "assets/"
/* Pages of a project: their paths may end in the name of a sandbox's file. */
#define PROJECTS "p/"
/* Stands in the page where its nonce goes. */
#define NONCE_MARK "STYLE-NONCE"
#define NONCE_BYTES 16

static const char *const coding_names[CONSOLE_CODING_COUNT] = {
        [CONSOLE_GZIP] = "gzip", [CONSOLE_BROTLI] = "br"};

static void add_common_headers(struct reply *reply)
{
	reply_header(reply, "X-Content-Type-Options", "nosniff");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	reply_header(reply, "Cross-Origin-Opener-Policy", "same-origin");
	reply_header(reply, "Cross-Origin-Resource-Policy", "same-origin");
}

/* Styles need the nonce because xterm and CodeMirror add <style> elements; scripts never get one.
 * Previews are framed: below a path of this origin, where their own policy isolates them, or at
 * hosts below the preview domain. */
static void add_policy(const struct request *rq, struct reply *reply, const char *nonce)
{
	const char *domain = api_of(rq)->config->preview_domain;
	const char *previews =
	        domain[0] ? arena_format(rq->arena, " http://*.%s https://*.%s", domain, domain)
	                  : "";

	reply_header(reply, "Content-Security-Policy",
	             arena_format(rq->arena,
	                          "default-src 'none'; script-src 'self'; "
	                          "style-src 'self' 'nonce-%s'; img-src 'self' blob: data:; "
	                          "connect-src 'self'; font-src 'self'; worker-src 'self'; "
	                          "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
	                          "frame-src 'self' blob:%s",
	                          nonce, previews));
	reply_header(reply, "X-Frame-Options", "DENY");
	reply_header(reply, "Permissions-Policy",
	             "accelerometer=(), camera=(), geolocation=(), microphone=(), payment=(), "
	             "usb=(), clipboard-write=(self)");
}

static void make_nonce(char out[NONCE_BYTES * 2 + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[NONCE_BYTES];

	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < NONCE_BYTES; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[NONCE_BYTES * 2] = '\0';
}

static struct span bytes_of(const struct console_file *file, enum console_coding coding)
{
	return (struct span){(const char *)file->start[coding],
	                     (size_t)(file->end[coding] - file->start[coding])};
}

static bool is_unchanged(const struct request *rq, const struct console_file *file)
{
	const char *known = request_header(rq, "If-None-Match");

	return known && strstr(known, file->etag);
}

/* The page without its mark. A client that has the page keeps the policy and the nonce that came
 * with it: neither is sent again with status 304. */
static int reply_page(struct request *rq, const struct console_file *page, struct reply *reply)
{
	struct span text = bytes_of(page, CONSOLE_PLAIN);
	const char *mark = memmem(text.data, text.size, NONCE_MARK, strlen(NONCE_MARK));
	size_t before = mark ? (size_t)(mark - text.data) : text.size;
	char nonce[NONCE_BYTES * 2 + 1];
	struct buf *out;

	reply_header(reply, "Cache-Control", "no-cache");
	reply_header(reply, "ETag", page->etag);
	if (is_unchanged(rq, page)) {
		reply_status(reply, 304);
		return 0;
	}
	make_nonce(nonce);
	add_common_headers(reply);
	add_policy(rq, reply, nonce);
	out = reply_buf(reply, page->type);
	buf_add_span(out, (struct span){text.data, before});
	if (mark) {
		buf_add_text(out, nonce);
		buf_add_span(out, span_after(text, before + strlen(NONCE_MARK)));
	}
	return 0;
}

static int reply_file(struct request *rq, const struct console_file *file, struct reply *reply)
{
	enum console_coding coding =
	        console_choose_coding(file, request_header(rq, "Accept-Encoding"));

	add_common_headers(reply);
	reply_header(reply, "Cache-Control", "public, max-age=31536000, immutable");
	reply_header(reply, "Vary", "Accept-Encoding");
	reply_header(reply, "ETag", file->etag);
	if (is_unchanged(rq, file)) {
		reply_status(reply, 304);
		return 0;
	}
	if (coding_names[coding])
		reply_header(reply, "Content-Encoding", coding_names[coding]);
	reply_text(reply, file->type, bytes_of(file, coding));
	return 0;
}

static int reply_without_console(struct request *rq, struct reply *reply)
{
	char nonce[NONCE_BYTES * 2 + 1];

	make_nonce(nonce);
	add_common_headers(reply);
	add_policy(rq, reply, nonce);
	reply_header(reply, "Cache-Control", "no-store");
	reply_text(reply, "text/html; charset=utf-8",
	           SPAN("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	                "<meta name=\"viewport\" content=\"width=device-width\">"
	                "<title>Atoll</title></head><body><h1>No console in this atolld</h1>"
	                "<p>This atolld was built without npm, and so without the web console. "
	                "The API, the command line and the SDKs work as ever.</p>"
	                "<p>To have the console: install npm, run <code>./dev build</code>, "
	                "and restart the server.</p></body></html>\n"));
	return 0;
}

static int console_get_root(struct request *rq, UNUSED const void *body, struct reply *reply,
                            UNUSED struct error *err)
{
	const struct console_file *page = console_find_file(PAGE);

	return page ? reply_page(rq, page, reply) : reply_without_console(rq, reply);
}

static bool names_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strncmp(path, ASSETS, strlen(ASSETS)) == 0)
		return true;
	return strncmp(path, PROJECTS, strlen(PROJECTS)) != 0 &&
	       strchr(slash ? slash : path, '.') != NULL;
}

static int console_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const char *path = request_param(rq, "path");
	const struct console_file *file = console_find_file(path);

	if (file && file != console_find_file(PAGE))
		return reply_file(rq, file, reply);
	if (!file && names_file(path))
		return FAIL(err, ERROR_NOT_FOUND,
		            "the console has no file '%s'; reload the page to get this version's",
		            path);
	return console_get_root(rq, body, reply, err);
}

/* Browsers go on to the console; other clients hear where the API is. */
static int root_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const char *accepted = request_header(rq, "Accept");

	(void)body;
	if (!accepted || !strstr(accepted, "text/html"))
		return FAIL(err, ERROR_NOT_FOUND,
		            "there is nothing at '/'; the API's description is at /openapi.json, "
		            "the console at /console/");
	reply_status(reply, 302);
	reply_header(reply, "Location", "/console/");
	reply_header(reply, "Cache-Control", "no-store");
	return 0;
}

#define FLAGS ROUTE_PUBLIC | ROUTE_INLINE | ROUTE_HIDDEN
const struct route console_routes[] = {
        {HTTP_GET, "/", SCOPE_NONE, FLAGS, .handle = root_get, .tag = "console",
         .summary = "Redirect browsers to the console"},
        {HTTP_GET, "/console", SCOPE_NONE, FLAGS, .handle = console_get_root, .tag = "console",
         .summary = "Get the console's page"},
        {HTTP_GET, "/console/*path", SCOPE_NONE, FLAGS, .handle = console_get, .tag = "console",
         .summary = "Get the console's page or one of its files"},
        {.path = NULL},
};
