/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "loading.h"

static void assert_taken(const char *flag)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = flag;
	if (loading_run(&l) < 0)
		fail_msg("%s: %s", flag, l.err.text);
}

static void assert_refused(const char *flag)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = flag;
	if (loading_run(&l) == 0)
		fail_msg("%s was taken", flag);
	assert_int_equal(l.err.code, ERROR_INVALID);
}

static void assert_all(const char *const *flags, void (*check)(const char *flag))
{
	for (; *flags; flags++)
		check(*flags);
}

TEST(addresses_to_listen_at_are_checked)
{
	assert_all((const char *const[]){"listen=0.0.0.0:0", "listen=[::1]:65535",
	                                 "listen=unix:/run/atoll.sock", NULL},
	           assert_taken);
	assert_all((const char *const[]){"listen=", "listen=127.0.0.1",
	                                 "listen=127.0.0.1:", "listen=:7777",
	                                 "listen=127.0.0.1:65536", "listen=127.0.0.1:-1",
	                                 "listen=localhost:1", "listen=::1:7777",
	                                 "listen=[127.0.0.1]:1", "listen=[]:1", "listen=[:1",
	                                 "listen=unix:relative", "listen=1.2.3.4:5:6", NULL},
	           assert_refused);
}

TEST(addresses_of_peers_are_checked)
{
	assert_all((const char *const[]){"peer_url=", "peer_url=http://10.0.0.2:7777",
	                                 "peer_url=https://atoll-2.example.com",
	                                 "peer_url=https://[fd00::2]:443", "peer_url=http://a:1",
	                                 NULL},
	           assert_taken);
	assert_all((const char *const[]){"peer_url=10.0.0.2:7777", "peer_url=http://",
	                                 "peer_url=ftp://a",
	                                 "peer_url=http://a:", "peer_url=http://:1",
	                                 "peer_url=http://a:0", "peer_url=http://a:65536",
	                                 "peer_url=http://a/", "peer_url=http://a?b",
	                                 "peer_url=http://user@a", "peer_url=http://0.0.0.0:1",
	                                 "peer_url=http://[::]:1", "peer_url=http://[::1",
	                                 "peer_url=http://[1.2.3.4]:1", "peer_url=http://[]",
	                                 "peer_url=http://a b", "peer_url=http://-a", NULL},
	           assert_refused);
}

TEST(a_peers_address_comes_apart)
{
	struct config_peer peer;
	struct error err = {0};

	assert_int_equal(config_peer_parse("https://[fd00::2]:8443", &peer, &err), 0);
	assert_true(peer.is_https);
	assert_string_equal(peer.host, "fd00::2");
	assert_int_equal(peer.port, 8443);
	assert_int_equal(config_peer_parse("http://atoll-2", &peer, &err), 0);
	assert_false(peer.is_https);
	assert_string_equal(peer.host, "atoll-2");
	assert_int_equal(peer.port, 80);
	assert_int_equal(config_peer_parse("https://a", &peer, &err), 0);
	assert_int_equal(peer.port, 443);
}

TEST(databases_are_checked)
{
	assert_all((const char *const[]){"store=", "store=sqlite:/tmp/atoll.db",
	                                 "store=postgresql://user@host/name",
	                                 "store=postgres:host=/run/postgresql", NULL},
	           assert_taken);
	assert_all((const char *const[]){"store=mysql://host", "store=/tmp/atoll.db",
	                                 "store=sqlite:", "store=postgresql",
	                                 "store=postgresql://me:****@host/name", NULL},
	           assert_refused);
}

TEST(networks_are_checked)
{
	assert_all((const char *const[]){"network_subnet=10.0.0.0/8", "network_subnet=10.1.2.16/28",
	                                 "network_allow=", "network_allow=10.0.0.0/8, fd00::/8",
	                                 "network_allow=192.168.1.5/32",
	                                 "network_nameservers=", "network_nameservers=127.0.0.53",
	                                 "network_nameservers=1.1.1.1, 9.9.9.9", NULL},
	           assert_taken);
	assert_all(
	        (const char *const[]){"network_subnet=10.0.0.0", "network_subnet=10.0.0.1/16",
	                              "network_subnet=10.0.0.0/29", "network_subnet=fd00::/16",
	                              "network_subnet=10.0.0/16", "network_subnet=0.0.0.0/0",
	                              "network_allow=10.0.0.0/33", "network_allow=fd00::1/8",
	                              "network_allow=,", "network_allow=all",
	                              "network_nameservers=::1", "network_nameservers=1.1.1.1/32",
	                              "network_nameservers=dns.example",
	                              "network_nameservers=1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4", NULL},
	        assert_refused);
}

TEST(kinds_of_probes_are_checked)
{
	assert_all(
	        (const char *const[]){"ready_networks=off", "ready_networks=off, on,rules", NULL},
	        assert_taken);
	assert_all((const char *const[]){"ready_networks=", "ready_networks=all",
	                                 "ready_networks=off,", NULL},
	           assert_refused);
}

TEST(what_the_broker_and_the_api_would_refuse_is_refused_at_start)
{
	assert_all((const char *const[]){"cells=256", "output_limit=16M", NULL}, assert_taken);
	assert_all((const char *const[]){"cells=257", "output_limit=16777217", NULL},
	           assert_refused);
}

TEST(numbers_have_bounds)
{
	assert_all((const char *const[]){"default_cpu=0.25", "default_cpu=1e2", "cells=0",
	                                 "max_memory_mb=64", NULL},
	           assert_taken);
	assert_all((const char *const[]){"default_cpu=nan", "default_cpu=1025", "default_cpu=",
	                                 "default_cpu=1x", "default_cpu=0.001", "cells=1025",
	                                 "cells=+1", "cells= 1", "cells=99999999999999999999",
	                                 "default_pids=7", "max_memory_mb=8", NULL},
	           assert_refused);
}

TEST(sizes_and_durations_have_units)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = "body-max=2M";
	l.flags[2] = "output_limit=2048";
	l.flags[3] = "idle_reap=90";
	l.flags[4] = "lifetime_max=36h";
	assert_int_equal(loading_run(&l), 0);
	assert_int_equal(l.config.body_max, 2 << 20);
	assert_int_equal(l.config.output_limit_bytes, 2048);
	assert_int_equal(l.config.timeouts.idle_reap_ms, 90000);
	assert_int_equal(l.config.timeouts.lifetime_max_ms, INT64_C(129600000));
	assert_all((const char *const[]){"body_max=2m", "body_max=M", "body_max=1.5M",
	                                 "body_max=9999999T", "body_max=1", "idle_reap=1w",
	                                 "idle_reap=-1s", "idle_reap=", NULL},
	           assert_refused);
}

TEST(switches_take_the_usual_words)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = "internet=no";
	assert_int_equal(loading_run(&l), 0);
	assert_false(l.config.internet);
	assert_all((const char *const[]){"internet=on", "internet=1", NULL}, assert_taken);
	assert_all((const char *const[]){"internet=", "internet=True", NULL}, assert_refused);
}

TEST(texts_are_utf_8_without_control_characters)
{
	assert_taken("debug=provider,http");
	assert_all((const char *const[]){"debug=a\nb", "debug=\x7f", "debug=\xff",
	                                 "region=", "region=a/b", "default_template=../x",
	                                 "provider=dock", NULL},
	           assert_refused);
}

TEST(where_agents_post_to_is_an_address_and_plain_http)
{
	struct config_callback c;
	struct error err = {0};

	assert_all((const char *const[]){"jobs_callback_url=", "jobs_callback_url=http://10.0.0.5",
	                                 "jobs_callback_url=http://[fd00::1]:7777/", NULL},
	           assert_taken);
	assert_all(
	        (const char *const[]){
	                "jobs_callback_url=10.0.0.5:1", "jobs_callback_url=http://here:1",
	                "jobs_callback_url=http://10.0.0.5:", "jobs_callback_url=http://10.0.0.5:0",
	                "jobs_callback_url=http://[fd00::1]x",
	                "jobs_callback_url=http://[10.0.0.5]:1", "jobs_callback_url=http://fd00::1",
	                "jobs_callback_url=http://10.0.0.5/?a=b", "jobs_callback_url=http://",
	                NULL},
	        assert_refused);
	assert_int_equal(config_callback_parse("http://[fd00::1]:77/under/", &c, &err), 0);
	assert_string_equal(c.address, "fd00::1");
	assert_string_equal(c.host, "[fd00::1]:77");
	assert_string_equal(c.path, "/under");
	assert_int_equal(c.port, 77);
	assert_int_equal(config_callback_parse("http://10.0.0.5", &c, &err), 0);
	assert_int_equal(c.port, 80);
	assert_string_equal(c.path, "");
	assert_int_equal(config_callback_parse("https://10.0.0.5", &c, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

int main(void)
{
	return RUN(CASE(addresses_to_listen_at_are_checked), CASE(databases_are_checked),
	           CASE(addresses_of_peers_are_checked), CASE(a_peers_address_comes_apart),
	           CASE(networks_are_checked), CASE(kinds_of_probes_are_checked),
	           CASE(what_the_broker_and_the_api_would_refuse_is_refused_at_start),
	           CASE(numbers_have_bounds), CASE(sizes_and_durations_have_units),
	           CASE(switches_take_the_usual_words),
	           CASE(where_agents_post_to_is_an_address_and_plain_http),
	           CASE(texts_are_utf_8_without_control_characters));
}
