/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a sandbox, as the API server takes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json/write.h"
#include "provider/kubernetes/kubernetes.h"
#include "sandbox/egress.h"
#include "wire/agent_machine.h"
#include "wire/agent_reverse.h"

#define AGENT_VOLUME "atoll-agent"
#define AGENT_FOLDER "/opt/atoll"
#define HOME_VOLUME "home"
#define HOME_FOLDER AGENT_POD_HOME
#define USER_ID 1000
#define TEXT_OF_(number) #number
#define TEXT_OF(number) TEXT_OF_(number)
#define INIT_CPU_MILLI 100
#define INIT_MEMORY_MB 64
#define AGENT_SIZE_MB 64
#define DNS_PORT 53

void kubernetes_name(const char *id, char out[KUBERNETES_NAME_MAX])
{
	(void)snprintf(out, KUBERNETES_NAME_MAX, KUBERNETES_PREFIX "%s", id);
}

bool kubernetes_keeps_home(const struct kubernetes_options *options)
{
	return strcmp(options->storage_class, "none") != 0;
}

/* RFC 3339: when an abandoned sandbox may be removed by any server. */
void kubernetes_shutdown_text(char out[32])
{
	time_t at = time(NULL) + KUBERNETES_KEEP_S;
	struct tm utc;

	(void)gmtime_r(&at, &utc);
	(void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* A warm pod has the labels of its shape, and those of a sandbox when it is claimed. */
static void write_labels(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	const struct sandbox_spec *spec = wish->spec;

	json_begin_object(out, "labels");
	json_add_text(out, "app.kubernetes.io/managed-by", "atoll");
	json_add_text(out, LABEL_SERVER, r->server);
	if (wish->warm) {
		json_add_text(out, LABEL_WARM, wish->warm);
		json_add_text(out, LABEL_POD, wish->name);
	} else {
		json_add_text(out, LABEL_SANDBOX, spec->id);
		if (spec->owner && *spec->owner)
			json_add_text(out, LABEL_OWNER, spec->owner);
	}
	json_end_object(out);
}

/* Of the pod that a controller makes: its Sandbox object has the time of its shutdown. */
static void write_template_metadata(const struct remote *r, struct buf *out,
                                    const struct pod_wish *wish)
{
	char epoch[32];

	json_begin_object(out, "metadata");
	write_labels(r, out, wish);
	json_begin_object(out, "annotations");
	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)wish->spec->lease_epoch);
	json_add_text(out, NOTE_EPOCH, epoch);
	json_add_text(out, NOTE_START, wish->start);
	json_end_object(out);
	json_end_object(out);
}

static void write_metadata(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	char text[32];

	json_begin_object(out, "metadata");
	json_add_text(out, "name", wish->name);
	write_labels(r, out, wish);
	json_begin_object(out, "annotations");
	(void)snprintf(text, sizeof(text), "%lld", (long long)wish->spec->lease_epoch);
	json_add_text(out, NOTE_EPOCH, text);
	kubernetes_shutdown_text(text);
	json_add_text(out, NOTE_SHUTDOWN, text);
	json_end_object(out);
	json_end_object(out);
}

static void begin_kind(struct buf *out, const char *version, const char *kind)
{
	json_begin_object(out, NULL);
	json_add_text(out, "apiVersion", version);
	json_add_text(out, "kind", kind);
}

static void write_confinement(struct buf *out)
{
	json_begin_object(out, "securityContext");
	json_add_bool(out, "allowPrivilegeEscalation", false);
	json_add_bool(out, "privileged", false);
	json_add_bool(out, "runAsNonRoot", true);
	json_begin_object(out, "capabilities");
	json_add_texts(out, "drop", (const char *const[]){"ALL", NULL});
	json_end_object(out);
	json_begin_object(out, "seccompProfile");
	json_add_text(out, "type", "RuntimeDefault");
	json_end_object(out);
	json_end_object(out);
}

static void write_pod_confinement(struct buf *out)
{
	json_begin_object(out, "securityContext");
	json_add_bool(out, "runAsNonRoot", true);
	json_add_whole(out, "runAsUser", USER_ID);
	json_add_whole(out, "runAsGroup", USER_ID);
	json_add_whole(out, "fsGroup", USER_ID);
	json_begin_object(out, "seccompProfile");
	json_add_text(out, "type", "RuntimeDefault");
	json_end_object(out);
	json_end_object(out);
}

static void write_sizes(struct buf *out, const char *name, const struct sandbox_resources *sizes)
{
	char text[32];

	json_begin_object(out, name);
	(void)snprintf(text, sizeof(text), "%lldm", (long long)(sizes->cpu * 1000.0 + 0.5));
	json_add_text(out, "cpu", text);
	(void)snprintf(text, sizeof(text), "%lldMi", (long long)sizes->memory_mb);
	json_add_text(out, "memory", text);
	if (sizes->disk_mb > 0) {
		(void)snprintf(text, sizeof(text), "%lldMi", (long long)sizes->disk_mb);
		json_add_text(out, "ephemeral-storage", text);
	}
	json_end_object(out);
}

/* A sandbox mostly waits: it reserves a share of the processor that it may use. */
static void write_resources(const struct remote *r, struct buf *out,
                            const struct sandbox_resources *limits)
{
	struct sandbox_resources requests = *limits;

	requests.cpu = limits->cpu * (double)as_kubernetes(r)->options->cpu_request_percent / 100.0;
	requests.disk_mb = 0;
	json_begin_object(out, "resources");
	write_sizes(out, "requests", &requests);
	write_sizes(out, "limits", limits);
	json_end_object(out);
}

static void write_mount(struct buf *out, const char *volume, const char *path, bool is_read_only)
{
	json_begin_object(out, NULL);
	json_add_text(out, "name", volume);
	json_add_text(out, "mountPath", path);
	json_add_bool(out, "readOnly", is_read_only);
	json_end_object(out);
}

static void write_agent_copy(const struct remote *r, struct buf *out)
{
	const struct kubernetes_options *o = as_kubernetes(r)->options;
	const struct sandbox_resources few = {.cpu = INIT_CPU_MILLI / 1000.0,
	                                      .memory_mb = INIT_MEMORY_MB};
	const char *const command[] = {o->agent_path, "--copy-to", AGENT_FOLDER "/agent", NULL};

	json_begin_list(out, "initContainers");
	json_begin_object(out, NULL);
	json_add_text(out, "name", "agent");
	json_add_text(out, "image", o->agent_image);
	json_add_text(out, "imagePullPolicy", "IfNotPresent");
	json_add_texts(out, "command", command);
	write_resources(r, out, &few);
	write_confinement(out);
	json_begin_list(out, "volumeMounts");
	write_mount(out, AGENT_VOLUME, AGENT_FOLDER, false);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
}

static void write_variable(struct buf *out, const char *name, const char *value)
{
	json_begin_object(out, NULL);
	json_add_text(out, "name", name);
	json_add_text(out, "value", value);
	json_end_object(out);
}

static void write_main(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	static const char *const command[] = {REMOTE_AGENT_PATH, "--tunnel",
	                                      "127.0.0.1:" TEXT_OF(REMOTE_PORT), NULL};

	json_begin_list(out, "containers");
	json_begin_object(out, NULL);
	json_add_text(out, "name", "main");
	json_add_text(out, "image", wish->image);
	json_add_text(out, "imagePullPolicy", "IfNotPresent");
	json_add_texts(out, "command", command);
	json_add_text(out, "workingDir", "/");
	json_begin_list(out, "env");
	write_variable(out, AGENT_TOKEN_VARIABLE, wish->token);
	json_end_list(out);
	write_resources(r, out, &wish->spec->resources);
	write_confinement(out);
	json_begin_list(out, "volumeMounts");
	write_mount(out, AGENT_VOLUME, AGENT_FOLDER, true);
	write_mount(out, HOME_VOLUME, HOME_FOLDER, false);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
}

static void write_empty_volume(struct buf *out, const char *name, int64_t size_mb)
{
	char text[32];

	json_begin_object(out, NULL);
	json_add_text(out, "name", name);
	json_begin_object(out, "emptyDir");
	(void)snprintf(text, sizeof(text), "%lldMi", (long long)size_mb);
	json_add_text(out, "sizeLimit", text);
	json_end_object(out);
	json_end_object(out);
}

static void write_volumes(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	json_begin_list(out, "volumes");
	write_empty_volume(out, AGENT_VOLUME, AGENT_SIZE_MB);
	if (kubernetes_keeps_home(as_kubernetes(r)->options)) {
		json_begin_object(out, NULL);
		json_add_text(out, "name", HOME_VOLUME);
		json_begin_object(out, "persistentVolumeClaim");
		json_add_text(out, "claimName", wish->name);
		json_end_object(out);
		json_end_object(out);
	} else {
		write_empty_volume(out, HOME_VOLUME, wish->spec->resources.disk_mb);
	}
	json_end_list(out);
}

static void write_pod_spec(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	const struct kubernetes_options *o = as_kubernetes(r)->options;

	json_begin_object(out, "spec");
	json_add_text(out, "restartPolicy", "Never");
	json_add_bool(out, "automountServiceAccountToken", false);
	json_add_bool(out, "enableServiceLinks", false);
	json_add_whole(out, "terminationGracePeriodSeconds", 1);
	if (wish->spec->hostname && *wish->spec->hostname)
		json_add_text(out, "hostname", wish->spec->hostname);
	if (*o->runtime_class)
		json_add_text(out, "runtimeClassName", o->runtime_class);
	write_pod_confinement(out);
	write_agent_copy(r, out);
	write_main(r, out, wish);
	write_volumes(r, out, wish);
	json_end_object(out);
}

void kubernetes_write_pod(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	begin_kind(out, "v1", "Pod");
	write_metadata(r, out, wish);
	write_pod_spec(r, out, wish);
	json_end_object(out);
}

/* The claim of the home is no claim template of it: those would be deleted with the object at its
 * shutdownTime, and a server that comes back later would find no files. */
void kubernetes_write_sandbox_spec(const struct remote *r, struct buf *out, const char *name,
                                   const struct pod_wish *wish)
{
	char until[32];

	kubernetes_shutdown_text(until);
	json_begin_object(out, name);
	json_add_text(out, "operatingMode", "Running");
	json_add_text(out, "shutdownTime", until);
	json_add_text(out, "shutdownPolicy", "Delete");
	json_add_bool(out, "service", false);
	json_begin_object(out, "podTemplate");
	write_template_metadata(r, out, wish);
	write_pod_spec(r, out, wish);
	json_end_object(out);
	json_end_object(out);
}

void kubernetes_write_sandbox(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	begin_kind(out, KUBERNETES_SANDBOX_GROUP, "Sandbox");
	write_metadata(r, out, wish);
	kubernetes_write_sandbox_spec(r, out, "spec", wish);
	json_end_object(out);
}

void kubernetes_write_claim(const struct remote *r, struct buf *out, const struct pod_wish *wish)
{
	const struct kubernetes_options *o = as_kubernetes(r)->options;
	int64_t disk_mb = wish->spec->resources.disk_mb;
	char size[32];

	(void)snprintf(size, sizeof(size), "%lldMi",
	               (long long)(wish->home_mb > disk_mb ? wish->home_mb : disk_mb));
	begin_kind(out, "v1", "PersistentVolumeClaim");
	write_metadata(r, out, wish);
	json_begin_object(out, "spec");
	json_add_texts(out, "accessModes", (const char *const[]){"ReadWriteOnce", NULL});
	if (*o->storage_class)
		json_add_text(out, "storageClassName", o->storage_class);
	if (wish->source) {
		json_begin_object(out, "dataSource");
		json_add_text(out, "apiGroup", "snapshot.storage.k8s.io");
		json_add_text(out, "kind", "VolumeSnapshot");
		json_add_text(out, "name", wish->source);
		json_end_object(out);
	}
	json_begin_object(out, "resources");
	json_begin_object(out, "requests");
	json_add_text(out, "storage", size);
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

static void write_range(struct buf *out, const struct egress_range *range)
{
	char block[EGRESS_BLOCK_SIZE];
	uint64_t at = range->first;

	while (egress_range_next_block(range, &at, block))
		json_add_text(out, NULL, block);
}

/* What rules deny, and what every sandbox is kept from. */
static int write_exceptions(struct buf *out, const char *egress, struct error *err)
{
	struct egress_ranges *denied = memory_new(sizeof(*denied));
	struct egress_range refused;
	int status = egress && *egress ? sandbox_egress_denied(egress, denied, err) : 0;

	json_begin_list(out, "except");
	for (size_t i = 0; status == 0 && i < denied->count; i++)
		write_range(out, &denied->items[i]);
	for (size_t i = 0; egress_refused_range(i, &refused); i++)
		write_range(out, &refused);
	json_end_list(out);
	free(denied);
	return status;
}

static void write_name_service(struct buf *out)
{
	static const char *const protocols[] = {"UDP", "TCP"};

	json_begin_object(out, NULL);
	json_begin_list(out, "ports");
	for (size_t i = 0; i < COUNT_OF(protocols); i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "protocol", protocols[i]);
		json_add_whole(out, "port", DNS_PORT);
		json_end_object(out);
	}
	json_end_list(out);
	json_begin_list(out, "to");
	json_begin_object(out, NULL);
	json_begin_object(out, "namespaceSelector");
	json_end_object(out);
	json_begin_object(out, "podSelector");
	json_begin_object(out, "matchLabels");
	json_add_text(out, "k8s-app", "kube-dns");
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
}

static int write_egress(struct buf *out, const struct sandbox_spec *spec, struct error *err)
{
	int status;

	json_begin_list(out, "egress");
	if (spec->network != SANDBOX_NETWORK_INTERNET) {
		json_end_list(out);
		return 0;
	}
	write_name_service(out);
	json_begin_object(out, NULL);
	json_begin_list(out, "to");
	json_begin_object(out, NULL);
	json_begin_object(out, "ipBlock");
	json_add_text(out, "cidr", SANDBOX_EGRESS_ALL);
	status = write_exceptions(out, spec->egress, err);
	json_end_object(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
	return status;
}

int kubernetes_check_rules(const struct remote *r, const struct sandbox_spec *spec,
                           struct error *err)
{
	const struct kubernetes_options *o = as_kubernetes(r)->options;
	bool has_rules = spec->egress && *spec->egress;

	if (has_rules && remote_rules_check(r, spec->egress, err) < 0)
		return -1;
	if (has_rules && sandbox_egress_has_names(spec->egress))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' keeps a sandbox from addresses, not from names: a "
		            "NetworkPolicy knows no names",
		            r->name);
	if (o->policies_hold || (spec->network == SANDBOX_NETWORK_INTERNET && !has_rules))
		return 0;
	(void)FAIL(
	        err, ERROR_UNSUPPORTED,
	        "provider '%s' cannot keep a sandbox from the network: it does not know that the "
	        "cluster enforces NetworkPolicies",
	        r->name);
	return FAIL_HINT(err, "set kubernetes_network_policy to true when its network plugin does");
}

int kubernetes_write_policy(const struct remote *r, struct buf *out, const struct pod_wish *wish,
                            struct error *err)
{
	static const char *const both[] = {"Ingress", "Egress", NULL};
	const struct sandbox_spec *spec = wish->spec;

	if (!wish->warm && kubernetes_check_rules(r, spec, err) < 0)
		return -1;
	begin_kind(out, "networking.k8s.io/v1", "NetworkPolicy");
	write_metadata(r, out, wish);
	json_begin_object(out, "spec");
	json_begin_object(out, "podSelector");
	json_begin_object(out, "matchLabels");
	json_add_text(out, wish->warm ? LABEL_POD : LABEL_SANDBOX,
	              wish->warm ? wish->name : spec->id);
	json_end_object(out);
	json_end_object(out);
	json_add_texts(out, "policyTypes", both);
	json_begin_list(out, "ingress");
	json_end_list(out);
	if (write_egress(out, spec, err) < 0)
		return -1;
	json_end_object(out);
	json_end_object(out);
	return 0;
}
