/* SPDX-License-Identifier: Apache-2.0 */
/* config/check.h — checks of the values of text options. */
#pragma once

#include "base/error.h"

/* "127.0.0.1:7777", "[::1]:0" or "unix:/path". */
MUST_CHECK int check_listen(const char *value, struct error *err);
/* "0.0.0.0:443"; may be empty. */
MUST_CHECK int check_tls_listen(const char *value, struct error *err);
/* An IPv4 network that is large enough for sandboxes: "10.213.0.0/16", no bits set after the
 * prefix. */
MUST_CHECK int check_subnet(const char *value, struct error *err);
/* A network in fc00::/7 with room for all sandboxes, no bits set after the prefix. */
MUST_CHECK int check_ipv6_subnet(const char *value, struct error *err);
/* "http://HOST:PORT", or "". */
MUST_CHECK int check_network_proxy(const char *value, struct error *err);
/* Networks separated by commas, IPv4 or IPv6 (of those, what egress_range6_may_open allows); may be
 * empty. */
MUST_CHECK int check_networks(const char *value, struct error *err);
/* One to three IPv4 addresses separated by commas; may be empty. */
MUST_CHECK int check_nameservers(const char *value, struct error *err);
/* The address of a database of a kind that the store supports; may be empty. */
MUST_CHECK int check_store(const char *value, struct error *err);
/* A URL for config_callback_parse; may be empty. */
MUST_CHECK int check_callback(const char *value, struct error *err);
/* A URL for config_peer_parse; may be empty. */
MUST_CHECK int check_peer(const char *value, struct error *err);
/* "off", "on" and "rules", separated by commas. */
MUST_CHECK int check_ready_networks(const char *value, struct error *err);
/* Host names separated by commas, or "*"; may be empty. */
MUST_CHECK int check_hosts(const char *value, struct error *err);
/* A name with a dot or "localhost", optionally with a port; may be empty. */
MUST_CHECK int check_domain(const char *value, struct error *err);
/* "http://host:80" or "https://host"; may be empty. */
MUST_CHECK int check_origin(const char *value, struct error *err);
/* Origins separated by commas, or "*"; may be empty. */
MUST_CHECK int check_origins(const char *value, struct error *err);
/* "https://host/path" or "http://…", without a query; may be empty. */
MUST_CHECK int check_issuer(const char *value, struct error *err);
/* "GROUP=ROLE@PROJECT" separated by commas; may be empty. */
MUST_CHECK int check_group_roles(const char *value, struct error *err);
/* Providers as in config/providers.h; may be empty. */
MUST_CHECK int check_providers(const char *value, struct error *err);
/* Rules as in config/routing.h; may be empty. */
MUST_CHECK int check_routing(const char *value, struct error *err);
/* "http://host:4318" or "https://host/path"; may be empty. otlp.c */
MUST_CHECK int check_otlp_endpoint(const char *value, struct error *err);
/* "NAME=VALUE" separated by commas; may be empty. */
MUST_CHECK int check_otlp_headers(const char *value, struct error *err);
/* Ports and ranges separated by commas, or "any". */
MUST_CHECK int check_ports(const char *value, struct error *err);
/* Empty, or long enough for a signing key. */
MUST_CHECK int check_secret(const char *value, struct error *err);
