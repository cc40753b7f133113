/* SPDX-License-Identifier: Apache-2.0 */
/* Content Security Policy Level 3 on lists of sources: a hash allows exactly its text, and
 * disables 'unsafe-inline'. So a list whose 'unsafe-inline' has an effect stays. */
#include <openssl/evp.h>

#include "http/rewrite/rewrite.h"

#define CHANGED_MAX 16 /* policies of one value; others stay */
#define SHA256_SIZE 32
#define HASH_SIZE (4 * ((SHA256_SIZE + 2) / 3) + 1) /* in base64, with the NUL */

/* Cuts the first word off *rest, with the blanks before it; empty if there is none. */
static struct span take_word(struct span *rest)
{
	size_t begin = 0, end;

	while (begin < rest->size && rewrite_is_blank(rest->data[begin]))
		begin++;
	for (end = begin; end < rest->size && !rewrite_is_blank(rest->data[end]);)
		end++;
	struct span word = {rest->data + begin, end - begin};
	span_skip(rest, end);
	return word;
}

/* The sources of the policy's directive; NULL if it has none. The first directive of a name
 * counts. */
static struct span find_directive(struct span policy, const char *name)
{
	struct span directive;
	bool more = true;

	while (more) {
		more = span_split(&policy, ';', &directive);
		if (span_is_word(take_word(&directive), name))
			return directive;
	}
	return (struct span){NULL, 0};
}

/* The directives for inline scripts and styles: the first that the policy has applies. */
static const char *const of_scripts[] = {"script-src-elem", "script-src", "default-src", NULL};
static const char *const of_styles[] = {"style-src", "default-src", NULL};

static struct span find_sources(struct span policy, const char *const *names)
{
	struct span sources = {NULL, 0};

	for (; *names && !sources.data; names++)
		sources = find_directive(policy, *names);
	return sources;
}

/* Whether 'unsafe-inline' has no effect. 'strict-dynamic' disables it for scripts only; a hash
 * disables it for styles of the same list, too. */
static bool is_exact(struct span source, bool is_of_styles)
{
	return span_starts_with_word(source, "'nonce-") ||
	       span_starts_with_word(source, "'sha256-") ||
	       span_starts_with_word(source, "'sha384-") ||
	       span_starts_with_word(source, "'sha512-") ||
	       (!is_of_styles && span_is_word(source, "'strict-dynamic'"));
}

/* Scripts in general, not inline ones. A page that forbids all scripts has none that Atoll's
 * script would help. */
static bool wants_hash(struct span sources, bool is_of_styles)
{
	bool allows_any = false, allows_inline = false, has_exact = false;
	struct span source;

	while ((source = take_word(&sources)).size) {
		allows_any = allows_any || !span_is_word(source, "'none'");
		allows_inline = allows_inline || span_is_word(source, "'unsafe-inline'");
		has_exact = has_exact || is_exact(source, is_of_styles);
	}
	return allows_any && (has_exact || !allows_inline);
}

static void add_hash(struct buf *out, const struct rewrite_place *place,
                     void (*add)(struct buf *out, struct span prefix))
{
	AUTO(buf_done) struct buf text = BUF(REWRITE_TAG_MAX);
	unsigned char digest[SHA256_SIZE], encoded[HASH_SIZE];

	add(&text, place->prefix);
	if (text.overflowed ||
	    EVP_Digest(text.data, text.size, digest, NULL, EVP_sha256(), NULL) != 1)
		return;
	(void)EVP_EncodeBlock(encoded, digest, sizeof(digest));
	buf_addf(out, " 'sha256-%s'", (const char *)encoded);
}

/* "ws://localhost:5173": with a path it is less than the origin, for which there is no keyword. */
static bool is_own_origin(struct span source, const struct rewrite_place *place)
{
	static const char *const schemes[] = {"http://", "https://", "ws://", "wss://"};

	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		if (!span_starts_with_word(source, schemes[i]))
			continue;
		span_skip(&source, strlen(schemes[i]));
		break;
	}
	return source.size && rewrite_own_host(source, place) == source.size;
}

/* Copies all bytes except the changed words, so that unknown parts stay. */
static void add_sources(struct buf *out, struct span directive, const struct rewrite_place *place)
{
	struct span rest = directive, word = take_word(&rest);
	bool is_report = span_is_word(word, "report-uri");
	const char *copied = directive.data;

	while ((word = take_word(&rest)).size) {
		buf_add(out, copied, (size_t)(word.data - copied));
		copied = word.data + word.size;
		if (is_report)
			rewrite_url(out, word, place);
		else if (is_own_origin(word, place))
			buf_add_text(out, "'self'");
		else
			buf_add_span(out, word);
	}
	buf_add(out, copied, (size_t)(directive.data + directive.size - copied));
}

static void add_policy(struct buf *out, struct span policy, const struct rewrite_place *place,
                       struct buf *hashes)
{
	struct span scripts = find_sources(policy, of_scripts), directive;
	bool is_of_styles = scripts.data == find_sources(policy, of_styles).data, more = true;
	bool takes_hash = place->prefix.size && scripts.data && wants_hash(scripts, is_of_styles);

	if (takes_hash && !hashes->size) {
		add_hash(hashes, place, rewrite_add_script);
		add_hash(hashes, place, rewrite_add_imports);
	}
	while (more) {
		more = span_split(&policy, ';', &directive);
		add_sources(out, directive, place);
		if (takes_hash && directive.data + directive.size == scripts.data + scripts.size)
			buf_add_span(out, buf_span(hashes));
		if (more)
			buf_add_byte(out, ';');
	}
}

void rewrite_csp_by(struct buf *out, struct span value, const struct rewrite_place *place,
                    struct buf *hashes)
{
	struct span policy;
	bool more = value.size > 0;

	for (unsigned i = 0; more; i++) {
		if (i == CHANGED_MAX) {
			buf_add_span(out, value);
			return;
		}
		more = span_split(&value, ',', &policy);
		add_policy(out, policy, place, hashes);
		if (more)
			buf_add_byte(out, ',');
	}
}

void rewrite_csp(struct buf *out, struct span value, const struct rewrite_place *place)
{
	AUTO(buf_done) struct buf hashes = BUF(REWRITE_HASHES_MAX);

	rewrite_csp_by(out, value, place, &hashes);
}

bool rewrite_csp_limits_base(struct span value)
{
	struct span policy;
	bool more = value.size > 0;

	while (more) {
		more = span_split(&value, ',', &policy);
		if (find_directive(policy, "base-uri").data)
			return true;
	}
	return false;
}
