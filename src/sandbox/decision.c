/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/decision.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/egress_ipv6.h"

const char *const decision_verdicts[] = {
        [DECISION_DENIED] = "denied",
        [DECISION_ALLOWED] = "allowed",
        [DECISION_WATCHED] = "watched",
        [DECISION_VERDICT_COUNT] = NULL,
};
const char *const decision_codes[] = {
        [DECISION_OK] = "ok",
        [DECISION_HOST_NOT_ALLOWED] = "host-not-allowed",
        [DECISION_ADDRESS_DENIED] = "address-denied",
        [DECISION_RANGE_REFUSED] = "range-refused",
        [DECISION_BAD_REQUEST] = "bad-request",
        [DECISION_LIMIT] = "limit",
        [DECISION_UPSTREAM_UNREACHABLE] = "upstream-unreachable",
        [DECISION_RULE_DENIED] = "rule-denied",
        [DECISION_HOST_MISMATCH] = "host-mismatch",
        [DECISION_CREDENTIAL_EXPIRED] = "credential-expired",
        [DECISION_UPSTREAM_UNTRUSTED] = "upstream-untrusted",
        [DECISION_CLIENT_DISTRUSTS] = "client-distrusts",
        [DECISION_CREDENTIAL_HOST] = "credential-host",
        [DECISION_UPSTREAM_PROXY_UNREACHABLE] = "upstream-proxy-unreachable",
        [DECISION_UPSTREAM_PROXY_LOGIN] = "upstream-proxy-login",
        [DECISION_UPSTREAM_PROXY_REFUSED] = "upstream-proxy-refused",
        [DECISION_SOURCE_ADDRESS] = "source-address-missing",
        [DECISION_DIRECT_REFUSED] = "direct-refused",
        [DECISION_QUOTA] = "quota",
        [DECISION_CODE_COUNT] = NULL,
};
const char *const decision_protocols[] = {
        [DECISION_TLS] = "tls",           [DECISION_HTTP] = "http", [DECISION_DNS] = "dns",
        [DECISION_TCP] = "tcp",           [DECISION_UDP] = "udp",   [DECISION_OTHER] = "other",
        [DECISION_PROTOCOL_COUNT] = NULL,
};

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool rule_is_sound(const char *rule)
{
	struct egress_range range;
	struct egress_range6 range6;

	return !*rule || egress_range_parse(span_of(rule), &range) ||
	       egress_range6_parse(span_of(rule), &range6) || egress_name_is_valid(span_of(rule)) ||
	       egress_cut_is_valid(span_of(rule));
}

static bool credential_is_sound(const char *name)
{
	struct error err = {0};

	return !*name || credential_name_check(name, &err) == 0;
}

bool decision_is_sound(const struct network_decision *d)
{
	return text_ends(d->sandbox, sizeof(d->sandbox)) && text_ends(d->host, sizeof(d->host)) &&
	       text_ends(d->rule, sizeof(d->rule)) &&
	       text_ends(d->credential, sizeof(d->credential)) && id_is_valid(d->sandbox) &&
	       credential_is_sound(d->credential) &&
	       (!*d->host || host_name_is_valid(span_of(d->host))) && rule_is_sound(d->rule) &&
	       d->verdict < DECISION_VERDICT_COUNT && d->code < DECISION_CODE_COUNT &&
	       d->protocol < DECISION_PROTOCOL_COUNT;
}

void decision_find_rule(struct network_decision *d, const char *egress)
{
	struct span rule;

	if (d->code != DECISION_ADDRESS_DENIED || *d->rule)
		return;
	rule = address6_is_set(&d->address6) ? sandbox_egress_rule_of_address6(egress, &d->address6)
	                                     : sandbox_egress_rule_of_address(egress, d->address);
	(void)snprintf(d->rule, sizeof(d->rule), "%.*s", (int)rule.size, rule.data);
}

void decision_set_cut(struct network_decision *d, struct span cut)
{
	d->code = DECISION_QUOTA;
	(void)snprintf(d->rule, sizeof(d->rule), "%.*s", (int)cut.size, cut.data);
}

static void predict_address(const char *egress, const struct egress_ranges *denied,
                            struct network_decision *d)
{
	for (size_t i = 0; i < denied->count; i++)
		if (egress_range_has(&denied->items[i], d->address))
			d->code = DECISION_ADDRESS_DENIED;
	decision_find_rule(d, egress);
	if (d->code == DECISION_OK && egress_is_refused(d->address))
		d->code = DECISION_RANGE_REFUSED;
}

static int predict_address6(const char *egress, struct network_decision *d, struct error *err)
{
	struct egress_ranges6 denied;

	if (sandbox_egress_denied6(egress, &denied, err) < 0)
		return -1;
	if (egress_ranges6_have(&denied, &d->address6))
		d->code = DECISION_ADDRESS_DENIED;
	else if (sandbox_egress_source(egress) != 0)
		d->code = DECISION_SOURCE_ADDRESS;
	decision_find_rule(d, egress);
	if (d->code == DECISION_OK && egress_is_refused6(&d->address6))
		d->code = DECISION_RANGE_REFUSED;
	return 0;
}

/* The gateway takes names on the ports of HTTP and TLS only. */
static int predict_name(const char *egress, const struct egress_ranges *denied,
                        struct network_decision *d, struct error *err)
{
	struct span rule = sandbox_egress_rule_of_name(egress, span_of(d->host));
	bool is_all = denied->count > 0 &&
	              (sandbox_egress_has_names(egress) || sandbox_egress_denies_all(egress));

	if (denied->count > 0 && !is_all) {
		(void)FAIL(err, ERROR_INVALID, "the rules decide on '%s' by its address", d->host);
		return FAIL_HINT(err, "ask for an address");
	}
	if (is_all && (rule.size == 0 || (d->port != 443 && d->port != 80)))
		d->code = DECISION_HOST_NOT_ALLOWED;
	else
		(void)snprintf(d->rule, sizeof(d->rule), "%.*s", (int)rule.size, rule.data);
	return 0;
}

/* Whether the mode lets pass what the rules refuse. Where they name hosts it lets no IPv6 pass: the
 * gateway that reads the names sees none. */
static bool is_watched(const char *egress, const struct network_decision *d)
{
	return sandbox_egress_mode(egress) == EGRESS_WATCH &&
	       !(address6_is_set(&d->address6) && sandbox_egress_has_names(egress));
}

/* A source address is one of IPv4: no mode lets IPv6 pass. */
static bool is_bound_to_ipv4(const char *egress, const struct network_decision *d)
{
	return address6_is_set(&d->address6) && sandbox_egress_source(egress) != 0;
}

int decision_predict(const char *egress, const char *host, uint16_t port,
                     struct network_decision *ret, struct error *err)
{
	struct network_decision d = {.port = port, .count = 1, .protocol = DECISION_TCP};
	struct egress_ranges denied;
	bool is_address = decision_set_address(&d, host);
	struct span cut = sandbox_egress_cut(egress);

	if (sandbox_egress_denied(egress, &denied, err) < 0)
		return -1;
	if (!is_address && !host_name_is_valid(span_of(host)))
		return FAIL(err, ERROR_INVALID, "'%.80s' is no host name and no address", host);
	if (!is_address)
		(void)snprintf(d.host, sizeof(d.host), "%s", host);
	if (cut.size > 0)
		decision_set_cut(&d, cut);
	else if (is_address && !address6_is_set(&d.address6))
		predict_address(egress, &denied, &d);
	else if ((is_address ? predict_address6(egress, &d, err)
	                     : predict_name(egress, &denied, &d, err)) < 0)
		return -1;
	if (d.code == DECISION_OK)
		d.verdict = DECISION_ALLOWED;
	else if (d.code == DECISION_RANGE_REFUSED || is_bound_to_ipv4(egress, &d) ||
	         !is_watched(egress, &d))
		d.verdict = DECISION_DENIED;
	else
		d.verdict = DECISION_WATCHED;
	*ret = d;
	return 0;
}

bool decision_is_fault(uint8_t code)
{
	return code == DECISION_UPSTREAM_UNREACHABLE || code == DECISION_SOURCE_ADDRESS ||
	       decision_is_of_proxy(code);
}

bool decision_is_of_proxy(uint8_t code)
{
	return code == DECISION_UPSTREAM_PROXY_UNREACHABLE ||
	       code == DECISION_UPSTREAM_PROXY_LOGIN || code == DECISION_UPSTREAM_PROXY_REFUSED;
}

bool decision_is_same(const struct network_decision *a, const struct network_decision *b)
{
	return a->address == b->address && address6_is_same(&a->address6, &b->address6) &&
	       a->port == b->port && a->verdict == b->verdict && a->code == b->code &&
	       a->protocol == b->protocol && strcmp(a->sandbox, b->sandbox) == 0 &&
	       strcmp(a->host, b->host) == 0 && strcmp(a->rule, b->rule) == 0 &&
	       strcmp(a->credential, b->credential) == 0;
}

void decision_address(const struct network_decision *d, char out[ADDRESS6_TEXT_SIZE])
{
	const struct in_addr in = {htonl(d->address)};

	out[0] = '\0';
	if (address6_is_set(&d->address6))
		address6_format(&d->address6, out);
	else if (d->address != 0)
		(void)inet_ntop(AF_INET, &in, out, ADDRESS6_TEXT_SIZE);
}

bool decision_set_address(struct network_decision *d, const char *text)
{
	struct egress_range range;

	if (!egress_range_parse(span_of(text), &range))
		return egress_address6_parse(span_of(text), &d->address6);
	if (range.first != range.last)
		return false;
	d->address = range.first;
	return true;
}

void decision_target(const struct network_decision *d, char out[DECISION_TARGET_SIZE])
{
	/* The port of a question is the nameserver's. */
	bool has_port = d->port > 0 && d->protocol != DECISION_DNS;
	bool is_ipv6 = address6_is_set(&d->address6);
	char address[ADDRESS6_TEXT_SIZE];
	int size;

	decision_address(d, address);
	size = snprintf(out, DECISION_TARGET_SIZE, !*d->host && is_ipv6 && has_port ? "[%s]" : "%s",
	                *d->host                ? d->host
	                : d->address || is_ipv6 ? address
	                                        : "0.0.0.0");
	if (has_port)
		(void)snprintf(out + size, DECISION_TARGET_SIZE - (size_t)size, ":%u", d->port);
}

void decision_add_reason(struct buf *out, const struct network_decision *d)
{
	static const char *const texts[] = {
	        [DECISION_OK] = "allowed",
	        [DECISION_HOST_NOT_ALLOWED] = "no rule allows it",
	        [DECISION_ADDRESS_DENIED] = "a rule denies the address",
	        [DECISION_RANGE_REFUSED] = "no sandbox may reach this address",
	        [DECISION_BAD_REQUEST] = "the connection names no single host",
	        [DECISION_LIMIT] = "too many connections at once",
	        [DECISION_UPSTREAM_UNREACHABLE] = "allowed, but the host does not answer",
	        [DECISION_RULE_DENIED] = "a rule refuses the request",
	        [DECISION_HOST_MISMATCH] = "the request names another host than the connection",
	        [DECISION_CREDENTIAL_EXPIRED] = "the credential or its rule has expired",
	        [DECISION_UPSTREAM_UNTRUSTED] = "the certificate of the host is not trusted",
	        [DECISION_CLIENT_DISTRUSTS] =
	                "the program does not trust the sandbox's certificate authority",
	        [DECISION_CREDENTIAL_HOST] = "the credential of the rule is not for this host",
	        [DECISION_UPSTREAM_PROXY_UNREACHABLE] =
	                "allowed, but the proxy of this server does not answer",
	        [DECISION_UPSTREAM_PROXY_LOGIN] =
	                "allowed, but the proxy of this server does not accept the server's login",
	        [DECISION_UPSTREAM_PROXY_REFUSED] =
	                "allowed, but the proxy of this server refuses it",
	        [DECISION_SOURCE_ADDRESS] =
	                "allowed, but the host does not have the source address of the project",
	        [DECISION_DIRECT_REFUSED] =
	                "this server sends all through a proxy, which takes HTTP and TLS only",
	        [DECISION_QUOTA] = "a quota of sent bytes is used up",
	};
	_Static_assert(COUNT_OF(texts) == DECISION_CODE_COUNT, "a text per code");

	if (d->code == DECISION_QUOTA)
		egress_cut_describe(out, span_of(d->rule));
	else if (d->code == DECISION_SOURCE_ADDRESS && address6_is_set(&d->address6))
		buf_add_text(out, "allowed, but the source address of the project is IPv4");
	else if ((d->code == DECISION_ADDRESS_DENIED || d->code == DECISION_RULE_DENIED) &&
	         *d->rule)
		buf_addf(out, "rule %s denies it", d->rule);
	else
		buf_add_text(out, texts[d->code]);
}

/* How a program inside gets further. */
static const char *advice_of(const struct network_decision *d)
{
	switch ((enum decision_code)d->code) {
	case DECISION_HOST_NOT_ALLOWED:
	case DECISION_ADDRESS_DENIED:
		return " Ask with the tool request_access, or use another way.";
	case DECISION_LIMIT:
		return " Open fewer connections at once.";
	case DECISION_DIRECT_REFUSED:
		return " Use HTTP or TLS with the host's name, on port 80 or 443.";
	case DECISION_BAD_REQUEST:
		return " Use HTTP or TLS with the host's name.";
	case DECISION_QUOTA:
		return " Files, commands and previews go on; an administrator can raise the quota.";
	case DECISION_HOST_MISMATCH:
	case DECISION_RULE_DENIED:
	case DECISION_CREDENTIAL_EXPIRED:
	case DECISION_CREDENTIAL_HOST:
	case DECISION_UPSTREAM_UNTRUSTED:
	case DECISION_CLIENT_DISTRUSTS:
	case DECISION_OK:
	case DECISION_RANGE_REFUSED:
	case DECISION_UPSTREAM_UNREACHABLE:
	case DECISION_UPSTREAM_PROXY_UNREACHABLE:
	case DECISION_UPSTREAM_PROXY_LOGIN:
	case DECISION_UPSTREAM_PROXY_REFUSED:
	case DECISION_SOURCE_ADDRESS:
	case DECISION_CODE_COUNT:
		break;
	}
	return "";
}

void decision_add_line(struct buf *out, const struct network_decision *d)
{
	char target[DECISION_TARGET_SIZE];

	decision_target(d, target);
	buf_addf(out, "[network] %s: %s (", decision_is_fault(d->code) ? "unreachable" : "refused",
	         target);
	decision_add_reason(out, d);
	buf_add_byte(out, ')');
	if (d->count > 1)
		buf_addf(out, ", %" PRIu64 " times", d->count);
	buf_addf(out, ".%s\n", advice_of(d));
}
