/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/lease.h"

#include <string.h>

#include "base/bytes.h"

const char *lease_status_name(enum lease_status status)
{
	static const char *const names[LEASE_STATUS_COUNT] = {
	        [LEASE_CREATING] = "creating",
	        [LEASE_READY] = "ready",
	        [LEASE_EMPTY] = "empty",
	};

	return (unsigned)status < LEASE_STATUS_COUNT ? names[status] : "unknown";
}

static bool has_control(struct span key)
{
	for (size_t i = 0; i < key.size; i++)
		if ((unsigned char)key.data[i] < ' ' || key.data[i] == 0x7f)
			return true;
	return false;
}

static bool has_dot_part(struct span key)
{
	struct span part;
	bool more = true;

	while (more) {
		more = span_split(&key, '/', &part);
		if (span_equals_text(part, ".") || span_equals_text(part, ".."))
			return true;
	}
	return false;
}

int lease_key_check(const char *key, struct error *err)
{
	struct span text = span_of(key);
	size_t size_max = span_starts_with(text, LEASE_SESSION_PREFIX) ? LEASE_SESSION_KEY_MAX
	                                                               : LEASE_KEY_MAX;

	if (text.size > 0 && text.size <= size_max && span_is_utf8(text) && !has_control(text) &&
	    !has_dot_part(text))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "not a valid lease key");
	return FAIL_HINT(
	        err,
	        "use 1 to %d bytes of UTF-8 without control characters and without a part '.' or "
	        "'..', such as 'workspace:42:agent'",
	        LEASE_KEY_MAX);
}

static void add_escaped(struct buf *out, const char *name)
{
	bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;

	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (c < ' ' || c == 0x7f || c == '%' || c == '/' || is_dots)
			buf_addf(out, "%%%02X", c);
		else
			buf_add_byte(out, *name);
	}
}

const char *lease_session_key(struct arena *a, const struct lease_session *session)
{
	AUTO(buf_done) struct buf key = BUF(SIZE_MAX / 2);

	buf_add_text(&key, LEASE_SESSION_PREFIX);
	add_escaped(&key, session->tenant);
	buf_add_byte(&key, '/');
	add_escaped(&key, session->session);
	return arena_text(a, buf_text(&key));
}

const char *lease_workspace_key(struct arena *a, const char *workspace)
{
	return arena_format(a, LEASE_WORKSPACE_PREFIX "%s", workspace);
}

/* NULL if add_escaped cannot have written it. */
static const char *unescape_name(struct arena *a, struct span text)
{
	AUTO(buf_done) struct buf name = BUF(SIZE_MAX / 2);

	while (text.size > 0) {
		int byte = span_take_escaped(&text);

		if (byte <= 0)
			return NULL;
		buf_add_byte(&name, (char)byte);
	}
	return arena_text(a, buf_text(&name));
}

bool lease_session_parse(struct arena *a, const char *key, struct lease_session *ret)
{
	struct span rest = span_of(key), tenant;
	struct lease_session found;

	if (!span_starts_with(rest, LEASE_SESSION_PREFIX))
		return false;
	rest = span_of(key + strlen(LEASE_SESSION_PREFIX));
	if (!span_split(&rest, '/', &tenant) || span_find(rest, '/') >= 0)
		return false;
	found = (struct lease_session){unescape_name(a, tenant), unescape_name(a, rest)};
	if (!found.tenant || !found.tenant[0] || !found.session || !found.session[0])
		return false;
	*ret = found;
	return true;
}

/* Actions for a ready lease by the state of its sandbox. A sandbox between two states settles
 * without help. */
static const enum lease_action ready_actions[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = LEASE_WAIT,   [SANDBOX_CREATING] = LEASE_WAIT,
        [SANDBOX_STARTED] = LEASE_USE,    [SANDBOX_PAUSED] = LEASE_USE,
        [SANDBOX_STOPPING] = LEASE_WAIT,  [SANDBOX_STOPPED] = LEASE_START,
        [SANDBOX_ARCHIVED] = LEASE_START, [SANDBOX_DELETING] = LEASE_MAKE,
        [SANDBOX_DELETED] = LEASE_MAKE,   [SANDBOX_FAILED] = LEASE_MAKE,
};

/* A claim is respected until it is abandoned, whatever the state of its sandbox: only its owner
 * knows the progress. */
static enum lease_action decide_creating(const struct lease_view *view, int64_t now)
{
	if (now - view->creating_since <= LEASE_CREATING_MAX_MS)
		return LEASE_WAIT;
	if (view->actual == SANDBOX_STARTED || view->actual == SANDBOX_PAUSED ||
	    view->actual == SANDBOX_STOPPED)
		return LEASE_ADOPT;
	return LEASE_TAKE_OVER;
}

enum lease_action lease_decide(const struct lease_view *view, int64_t now)
{
	if (view->status == LEASE_CREATING)
		return decide_creating(view, now);
	return view->status == LEASE_READY ? ready_actions[view->actual] : LEASE_MAKE;
}

bool lease_error_may_mean_gone(enum error_code code)
{
	static const bool may[ERROR_CODE_COUNT] = {
	        [ERROR_NOT_FOUND] = true,   [ERROR_CONFLICT] = true, [ERROR_TIMEOUT] = true,
	        [ERROR_UNAVAILABLE] = true, [ERROR_SYSTEM] = true,
	};

	return (unsigned)code < ERROR_CODE_COUNT && may[code];
}
