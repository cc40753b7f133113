/* SPDX-License-Identifier: Apache-2.0 */
/* http/rewrite/rewrite.h — rewrites answers of a server that assumes it is at the root, for clients
 * that see it below a path. Pure: no I/O.
 *
 * A rewriter takes a page in pieces of any size and changes what would make the browser request a
 * wrong address: attributes that hold addresses; and it inserts a script and an import map for
 * addresses that scripts build. It buffers at most a tag; a longer tag passes unchanged. The
 * rewriting is no security boundary: the page's origin is. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct rewrite_place {
	struct span prefix;   /* "/preview/5173": without a '/' at the end; may be empty */
	struct span document; /* path and query of the page below the prefix: "/docs/?a=b" */
	unsigned port;        /* port of the server at localhost */
};

/* White space of HTML and CSS. */
static inline bool rewrite_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
/* Size of "localhost:5173", or another name of the server, at the front; 0 = none. */
size_t rewrite_own_host(struct span text, const struct rewrite_place *place);

/* Rewrites an address. Relative addresses and those of other hosts stay unchanged. */
void rewrite_url(struct buf *out, struct span url, const struct rewrite_place *place);
/* Rewrite header values. */
void rewrite_refresh(struct buf *out, struct span value, const struct rewrite_place *place);
void rewrite_link(struct buf *out, struct span value, const struct rewrite_place *place);
/* Removes the cookie's Domain and moves its Path below the prefix. */
void rewrite_cookie(struct buf *out, struct span value, const struct rewrite_place *place);
/* Rewrites a Content-Security-Policy, or several. Where a policy restricts scripts, the inserted
 * scripts are allowed by their hash; the server's own origin becomes 'self'. */
void rewrite_csp(struct buf *out, struct span value, const struct rewrite_place *place);
/* Like rewrite_csp for several values of the same place. The hashes are computed once, when first
 * needed, and kept in `hashes`, which starts empty. */
#define REWRITE_HASHES_MAX 256
void rewrite_csp_by(struct buf *out, struct span value, const struct rewrite_place *place,
                    struct buf *hashes);
/* True when a policy limits the base address. */
bool rewrite_csp_limits_base(struct span value);

/* Write the inserted script and the inserted import map. */
void rewrite_add_script(struct buf *out, struct span prefix);
void rewrite_add_imports(struct buf *out, struct span prefix);

enum css_state {
	CSS_TEXT,
	CSS_OPEN, /* after "url(" */
	CSS_URL,
};
/* Rewrites a style sheet in pieces: addresses in url() and after @import. Zero-initialised. */
struct css_rewriter {
	enum css_state state;
	char tail[12];   /* the preceding characters */
	char quote;      /* quote that ends the address; 0 = none */
	struct buf held; /* an incomplete address */
};
void css_rewriter_done(struct css_rewriter *c);
void css_rewriter_take(struct css_rewriter *c, const struct rewrite_place *place, struct span in,
                       struct buf *out);
/* Writes the buffered rest. */
void css_rewriter_end(struct css_rewriter *c, struct buf *out);

#define REWRITE_TAG_MAX ((size_t)64 * 1024)

/* A whole page gets a base, a script and an import map; a part of a page does not. */
enum rewriter_kind {
	REWRITER_PART,
	REWRITER_PAGE,
	REWRITER_ANY, /* a page if it begins with <!doctype>, <html>, <head> or <body> */
};
enum rewriter_state {
	REWRITER_TEXT,
	REWRITER_OPEN, /* "<", and too few characters after it to know the token */
	REWRITER_TAG,
	REWRITER_LONG_TAG, /* too long to be buffered */
	REWRITER_COMMENT,
	REWRITER_RAW,     /* inside a script or style element */
	REWRITER_RAW_END, /* inside such an element, after "</" */
};
struct rewriter {
	struct rewrite_place place; /* borrowed */
	enum rewriter_state state;
	struct buf held;   /* an incomplete tag */
	struct buf hashes; /* for rewrite_csp_by */
	char raw[16];      /* element that REWRITER_RAW is inside */
	char quote;        /* open quote of an attribute value, or 0 */
	bool after_equals; /* in a tag, after '=': a quote begins a value */
	unsigned dashes;   /* '-' characters at the end of a comment so far */
	enum rewriter_kind kind;
	bool has_base; /* the page has a base, or must not get ours */
	bool has_script, has_imports;
	bool is_style; /* what REWRITER_RAW is within */
	struct css_rewriter css;
};
void rewriter_init(struct rewriter *r, const struct rewrite_place *place, enum rewriter_kind kind);
void rewriter_done(struct rewriter *r);
void rewriter_take(struct rewriter *r, struct span in, struct buf *out);
/* Appends the bytes that are still held back. */
void rewriter_end(struct rewriter *r, struct buf *out);
