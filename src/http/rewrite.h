/* SPDX-License-Identifier: Apache-2.0 */
/* http/rewrite.h — what a server says of itself as if it were at the root, for clients that see it
 * below a path. Pure: no I/O.
 *
 * A rewriter takes a page in pieces of any size and changes what a browser would send to the wrong
 * place: attributes that hold addresses, and by a script and a map of imports what scripts ask for.
 * It never keeps more than a tag; a longer one goes through unchanged. It is a help for pages, not
 * a wall around them: what keeps a page off others is its origin. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/span.h"

struct rewrite_place {
	struct span prefix;   /* "/preview/5173": no '/' at its end; may be empty */
	struct span document; /* path and query of the page below it: "/docs/?a=b" */
	unsigned port;        /* by which the server knows itself, at localhost */
};

/* Of HTML and of CSS. */
static inline bool rewrite_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
/* Size of "localhost:5173" at the front, or 0: a server knows itself by several names. */
size_t rewrite_own_host(struct span text, const struct rewrite_place *place);

/* An address. Those of other hosts, and relative ones, stay as they are. */
void rewrite_url(struct buf *out, struct span url, const struct rewrite_place *place);
/* Values of headers. */
void rewrite_refresh(struct buf *out, struct span value, const struct rewrite_place *place);
void rewrite_link(struct buf *out, struct span value, const struct rewrite_place *place);
/* The cookie's Domain goes, its Path moves below the prefix. */
void rewrite_cookie(struct buf *out, struct span value, const struct rewrite_place *place);
/* A Content-Security-Policy, or several. Where one lets scripts in by name, what is put into a page
 * below the prefix is let in by its hash; the server's own origin becomes 'self'. */
void rewrite_csp(struct buf *out, struct span value, const struct rewrite_place *place);
/* The same for several values of one place: what lets in is made once, when it is first needed, and
 * kept in `hashes`, which is empty to begin with. */
#define REWRITE_HASHES_MAX 256
void rewrite_csp_by(struct buf *out, struct span value, const struct rewrite_place *place,
                    struct buf *hashes);
/* Whether one of them says which base a page may have. */
bool rewrite_csp_limits_base(struct span value);

/* What stands in the <script> that is put into a page, and in the map of imports. */
void rewrite_add_script(struct buf *out, struct span prefix);
void rewrite_add_imports(struct buf *out, struct span prefix);

enum css_state {
	CSS_TEXT,
	CSS_OPEN, /* behind "url(" */
	CSS_URL,
};
/* A style sheet, in pieces: what stands in url() and behind @import. Zeroed to begin with. */
struct css_rewriter {
	enum css_state state;
	char tail[12];   /* what went before */
	char quote;      /* that the address ends with; 0 = none */
	struct buf held; /* of an address that is not whole yet */
};
void css_rewriter_done(struct css_rewriter *c);
void css_rewriter_take(struct css_rewriter *c, const struct rewrite_place *place, struct span in,
                       struct buf *out);
/* What is still held. */
void css_rewriter_end(struct css_rewriter *c, struct buf *out);

#define REWRITE_TAG_MAX ((size_t)64 * 1024)

/* Into a page a base, a script and a map of imports are put, into a part of one nothing. */
enum rewriter_kind {
	REWRITER_PART,
	REWRITER_PAGE,
	REWRITER_ANY, /* a page if it says so: <!doctype>, <html>, <head>, <body> */
};
enum rewriter_state {
	REWRITER_TEXT,
	REWRITER_OPEN, /* "<", and too little behind it to know what it begins */
	REWRITER_TAG,
	REWRITER_LONG_TAG, /* that is not kept */
	REWRITER_COMMENT,
	REWRITER_RAW,     /* within a script, a style … */
	REWRITER_RAW_END, /* the same, and "</" that may end it */
};
struct rewriter {
	struct rewrite_place place; /* borrowed */
	enum rewriter_state state;
	struct buf held;   /* a tag that is not whole yet */
	struct buf hashes; /* of rewrite_csp_by */
	char raw[16];      /* what REWRITER_RAW is within */
	char quote;        /* of the value that the tag is in, or 0 */
	bool after_equals; /* in a tag: a quote would begin a value */
	unsigned dashes;   /* at the end of a comment so far */
	enum rewriter_kind kind;
	bool has_base; /* or may have none of ours */
	bool has_script, has_imports;
	bool is_style; /* what REWRITER_RAW is within */
	struct css_rewriter css;
};
void rewriter_init(struct rewriter *r, const struct rewrite_place *place, enum rewriter_kind kind);
void rewriter_done(struct rewriter *r);
void rewriter_take(struct rewriter *r, struct span in, struct buf *out);
/* What is still held. */
void rewriter_end(struct rewriter *r, struct buf *out);
