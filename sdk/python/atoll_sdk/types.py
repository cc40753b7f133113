# SPDX-License-Identifier: Apache-2.0
"""What the API takes and answers. Written by tools/sdk_types.py --write from docs/api/openapi.json."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Error(TypedDict):
    """Error"""

    error: dict[str, Any]


class SandboxList(TypedDict):
    """One page of sandboxes"""

    items: list[Sandbox]
    next_page: str | None
    # number of sandboxes on all pages together
    total: int


class Sandbox(TypedDict):
    """An isolated computer"""

    id: str
    name: str
    # current state
    state: Literal["pending", "creating", "started", "paused", "stopping", "stopped", "archived", "deleting", "deleted", "failed"]
    # last requested state
    desired_state: Literal["pending", "creating", "started", "paused", "stopping", "stopped", "archived", "deleting", "deleted", "failed"]
    # why the sandbox ended or was paused
    reason: Literal["none", "user", "idle", "lifetime", "oom", "exit", "host_lost", "error", "budget", "disk"]
    # ok, or unresponsive: the agent does not answer, and calls that need it are refused until it does; null: the sandbox does not run
    agent: str | None
    template: str
    # name of the provider that has it
    provider: str
    # isolation in effect
    isolation: str
    # why it is at this provider: what named it, or the routing rule, and why providers before it were not taken or failed; null: there was no choice
    placed: str | None
    # where the provider runs it; null: on this machine
    place: SandboxPlace | None
    # what its provider cannot do; such calls answer 501
    unsupported: list[str]
    region: str
    project: str
    # blocked or internet
    network: str
    # object of strings
    labels: Any
    # names of the environment variables; values are never returned
    env_names: list[str]
    resources: Resources
    persistent: bool
    created_at: str | None
    started_at: str | None
    last_activity_at: str | None
    timeout_at: str | None
    # time since the start; 0 while stopped
    uptime_ms: int
    # idle time after which an ephemeral sandbox is deleted; 0: never
    idle_reap_ms: int
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: never
    lifetime_max_ms: int
    # idle time after which a sandbox is paused; 0: never
    autoPauseMs: int
    # idle time after which a sandbox is stopped; 0: never
    autoStopMs: int
    # time after a stop until the files move to the blob store; 0: never
    autoArchiveMs: int
    # time after a stop until the sandbox is deleted, persistent or not; 0: never
    autoDeleteMs: int
    # the idle timeout is suspended until this time
    awake_until: str | None
    preview: SandboxPreview
    egress: SandboxEgress
    # why it reaches no address, whatever its rules say: a quota of sent bytes is used up; null: its rules decide
    egress_cut: str | None
    last_event: LastEvent
    # only GET of one sandbox and GET of the list return it; other replies have null
    made_from: SandboxOrigin | None
    # snapshots below the sandbox's files, uppermost first, at most 64, then the template; only GET of one sandbox returns it, other replies have null
    lineage: list[LineageStep] | None
    # attached volumes; only GET of one sandbox and GET of the list return them, other replies have null
    volumes: list[AttachedVolume] | None
    created_by: SandboxCreator
    # grows with every change, but not with last_activity_at; of two replies about a sandbox, that with the higher version is the newer one
    version: int


class SandboxPlace(TypedDict):
    """Where the provider runs a sandbox"""

    # of the cluster; null: no node has taken it yet, or there is no cluster
    node: str | None
    # name of the pod, or id of the sandbox in the account
    object: str | None
    # of the account
    region: str | None


class Resources(TypedDict):
    """Limits in effect"""

    # vCPUs
    cpu: float
    # MiB
    memory_mb: int
    # MiB
    disk_mb: int
    # processes and threads
    pids: int
    # the host cannot enforce disk_mb
    disk_advisory: bool


class SandboxPreview(TypedDict):
    """Preview settings; details at /preview"""

    enabled: bool
    public: bool
    # ports that the server and the template allow, or any; only GET of one sandbox returns it, other replies have null
    ports: str | None
    # whether the server allows links for people without a key
    sharingEnabled: bool


class SandboxEgress(TypedDict):
    """Network destinations that a sandbox may reach"""

    # addresses, ranges and host names that the sandbox may reach even if they are denied; a host name works for TLS on port 443 and HTTP on port 80, and requires that everything else is denied
    allow: NotRequired[list[str]]
    # addresses and ranges that the sandbox may not reach; "0.0.0.0/0" denies all
    deny: NotRequired[list[str]]
    # only in requests: allow the hosts of these presets and deny all else; see /api/sandbox/egress/presets
    presets: NotRequired[list[str]]
    # only in requests: credentials that have a preset; their hosts are allowed, all else is denied, and the rules of their presets follow those of rules
    credentials: NotRequired[list[str]]
    # which requests get credentials outside of the sandbox; their hosts have to be allowed by name
    rules: NotRequired[list[CredentialRule]]
    # what happens to refused connections: enforce (default), ask (refused, and a person is asked by an access request), or watch (let through and recorded)
    mode: NotRequired[Literal["enforce", "ask", "watch"]]


class CredentialRule(TypedDict):
    """What happens to requests of a sandbox"""

    # In logs and errors; unique
    id: NotRequired[str]
    # A name, or *. and a name
    host: str
    # http: requests without TLS; the credential can be read on the network
    scheme: NotRequired[Literal["https", "http"]]
    # 443, or 80 with the scheme http
    port: NotRequired[int]
    # Which requests; none: all
    match: NotRequired[CredentialMatch]
    # What happens to the request
    action: Literal["inject", "allow", "deny"]
    # What is put into the request
    inject: NotRequired[list[CredentialInject]]
    # Headers that are taken out of the request
    remove: NotRequired[list[str]]
    # Limits for the sandbox
    limits: NotRequired[CredentialLimits]
    # Whether a WebSocket may be opened
    websocket: NotRequired[bool]
    # Where an answer may not repeat the credential
    mask: NotRequired[Literal["headers+body", "headers", "off"]]
    # How the host is reached
    upstream: NotRequired[CredentialUpstream]
    # The rule refuses requests from then on
    expires_at: NotRequired[str | None]
    # For people
    note: NotRequired[str]
    # Where the rule comes from
    source: NotRequired[str]


class CredentialMatch(TypedDict):
    """Which requests a rule is about"""

    # Any of these methods; none: all
    methods: NotRequired[list[str]]
    # The path; none: all
    path: NotRequired[CredentialPathMatch]
    # Query parts, all must hold
    query: NotRequired[list[CredentialFieldMatch]]
    # Headers, all must hold
    headers: NotRequired[list[CredentialFieldMatch]]
    # Whether %2F may be in the path
    encoded_slash: NotRequired[bool]


class CredentialPathMatch(TypedDict):
    """The path of a request, one of the three"""

    # The whole path
    exact: NotRequired[str]
    # Whole segments at the begin
    prefix: NotRequired[str]
    # '*' is any text within a segment, '**' across segments
    glob: NotRequired[str]


class CredentialFieldMatch(TypedDict):
    """A query part or a header of a request"""

    # The name
    name: str
    # The whole value
    exact: NotRequired[str]
    # How the value begins
    prefix: NotRequired[str]
    # Whether it is there at all
    present: NotRequired[bool]


# How a credential is put into a request
CredentialInject = TypedDict("CredentialInject", {
    "kind": 'Literal["header", "basic", "query", "cookie", "placeholder", "sigv4"]',
    "when": 'NotRequired[Literal["always", "absent", "placeholder"]]',
    "name": "NotRequired[str]",
    "value": "NotRequired[str]",
    "username": "NotRequired[str]",
    "password": "NotRequired[str]",
    "marker": "NotRequired[str]",
    "in": "NotRequired[list[str]]",
    "access_key_id": "NotRequired[str]",
    "secret_access_key": "NotRequired[str]",
    "session_token": "NotRequired[str]",
    "regions": "NotRequired[list[str]]",
    "services": "NotRequired[list[str]]",
})


class CredentialLimits(TypedDict):
    """Limits of a rule for a sandbox; 0: none"""

    # Requests each second
    requests_per_second: NotRequired[int]
    # Requests at once; as many as for a second if 0
    burst: NotRequired[int]
    # Requests in all
    requests: NotRequired[int]
    # Bytes of the body of a request
    bytes_out_request: NotRequired[int]
    # Bytes of all bodies of requests
    bytes_out: NotRequired[int]
    # Bytes of all bodies of answers
    bytes_in: NotRequired[int]
    # Connections at once
    connections: NotRequired[int]


class CredentialUpstream(TypedDict):
    """How the host is reached"""

    # Certificates to trust, as PEM, in place of the system's
    ca: NotRequired[str]
    # Whether the host is offered HTTP/2
    http2: NotRequired[Literal["as-client", "always", "never"]]


class LastEvent(TypedDict):
    """The last event of a sandbox"""

    at: str | None
    text: str


class SandboxOrigin(TypedDict):
    """What a sandbox was made from"""

    # template or snapshot; a fork is made from a snapshot
    kind: str | None
    # id of the snapshot
    snapshot: str | None
    # null: the snapshot or template is deleted
    snapshot_name: str | None
    # id of the sandbox that the snapshot was taken of; for a fork, the sandbox that was forked
    sandbox: str | None
    sandbox_name: str | None


class LineageStep(TypedDict):
    """A snapshot or template below a sandbox's files"""

    # snapshot or template
    kind: str
    id: str
    # null: the snapshot or template is deleted
    name: str | None
    # id of the sandbox that the snapshot was taken of
    sandbox: str | None
    sandbox_name: str | None


class AttachedVolume(TypedDict):
    """A volume of a sandbox"""

    # name
    volume: str
    volume_id: str
    # mount point in the sandbox
    path: str
    read_only: bool


class SandboxCreator(TypedDict):
    """The key and the user that made a sandbox"""

    # id of the key, or of the user of a session
    key: str | None
    # user of the session, or member that the key belongs to
    user: str | None


class SandboxCreate(TypedDict):
    """Settings of a new sandbox"""

    # false: no network
    internet: NotRequired[bool]
    # blocked or internet; same as the member internet
    network: NotRequired[Literal["blocked", "internet"]]
    # false: no previews of the sandbox (default true)
    previewEnabled: NotRequired[bool]
    # the idle timeout does not delete the sandbox
    persistent: NotRequired[bool]
    # name or id (default: the server's default template)
    template: NotRequired[str]
    # image of a registry, instead of a template; pulled if the project does not have it yet
    image: NotRequired[str]
    # of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing)
    pull: NotRequired[Literal["missing", "always", "never"]]
    # name or id of a snapshot; the sandbox starts with its files and on its template
    snapshot: NotRequired[str]
    # id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here
    config: NotRequired[str]
    # name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request)
    provider: NotRequired[str]
    # the least isolation that is accepted (default: that of the first provider)
    isolation: NotRequired[Literal["none", "namespaces", "gvisor", "microvm", "remote"]]
    # free-form label of the location; the server only stores it
    region: NotRequired[str]
    # labels to filter lists by
    labels: NotRequired[dict[str, str]]
    # environment of every command; overrides the template's environment; never returned
    env: NotRequired[dict[str, str]]
    resources: NotRequired[ResourcesRequest]
    # GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number
    gpus: NotRequired[int]
    # allow shared links to previews (default false)
    previewPublic: NotRequired[bool]
    # destinations that the sandbox may reach (default: all that the server permits)
    egress: NotRequired[SandboxEgress]
    # name or id of a volume to mount writable at /workspace
    volume: NotRequired[str]
    # volumes to mount at chosen paths
    volumes: NotRequired[list[SandboxVolume]]
    # KEY: the volume home-KEY is mounted at /home/user and created if missing
    persistentHome: NotRequired[str]
    # size limit of that volume in GiB when it is created (default: no limit)
    persistentDiskGb: NotRequired[int]
    # NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them
    workspace: NotRequired[str]
    # parent folder of the workspace (default /mnt/workspaces)
    workspaceRoot: NotRequired[str]
    # time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never
    timeout_ms: NotRequired[int]
    # idle time after which an ephemeral sandbox is deleted; 0: the server's setting
    idle_reap_ms: NotRequired[int]
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting
    lifetime_max_ms: NotRequired[int]
    # idle time after which a sandbox is paused; 0: the server's setting; -1: never
    autoPauseMs: NotRequired[int]
    # idle time after which a sandbox is stopped; 0: the server's setting; -1: never
    autoStopMs: NotRequired[int]
    # time after a stop until the files move to the blob store; 0: never
    autoArchiveMs: NotRequired[int]
    # time after a stop until the sandbox is deleted, persistent or not; 0: never
    autoDeleteMs: NotRequired[int]
    # unique in the project (default: generated)
    name: NotRequired[str]


class ResourcesRequest(TypedDict):
    """Limits; omitted members and 0 are inherited from the project and the platform"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class SandboxVolume(TypedDict):
    """A volume and its mount point"""

    # name or id
    volume: str
    # absolute mount point (default /workspace)
    path: NotRequired[str]
    # mount read-only; any number of sandboxes may read a volume
    read_only: NotRequired[bool]
    # folder of the volume to mount, created if missing (default: the whole volume)
    subpath: NotRequired[str]


class SandboxPlan(TypedDict):
    """The sandbox that the request would make, with dry_run=true; nothing was made"""

    values: list[SandboxPlanValue]
    choices: list[SandboxPlanText]
    # false: the create waits for the template's first build
    template_ready: bool
    # of the active sandbox
    price_per_hour_usd: float


class SandboxPlanValue(TypedDict):
    """A planned value and its source"""

    # cpu, memory_mb, disk_mb, pids or a timeout such as idle_pause_ms
    name: str
    # effective value; 0 of a timeout: never
    value: float
    # value before the caps
    wanted: float
    # request, template, project or platform
    source: str
    # project or platform, whose cap lowered the value
    lowered_by: str | None


class SandboxPlanText(TypedDict):
    """A planned choice and its source"""

    # template, network, provider, isolation or region
    name: str
    value: str
    # request or platform
    source: str


class Pause(TypedDict):
    """Options of a pause"""

    # move the memory to the disk, where it outlives a restart of the host (default false); only virtual machines can
    disk: NotRequired[bool]


class SandboxKeepalive(TypedDict):
    """How long to suspend the idle timeout"""

    # from now; never shortens an earlier keepalive
    timeoutMs: int


class SandboxPersist(TypedDict):
    """How long to suspend the idle timeout"""

    # from now; 0 ends it together with any keepalive
    hours: int


class Stats(TypedDict):
    """Current resource usage of a sandbox"""

    sampled_at: str | None
    uptime_ms: int
    # since the start of the sandbox
    cpu_usage_us: int
    # average percent of one vCPU since the start; for a shorter period compare two samples of cpu_usage_us
    cpu_percent: float
    memory_bytes: int
    memory_limit_bytes: int
    # size of the files on top of the template; -1: unknown
    disk_bytes: int
    disk_limit_bytes: int
    pids: int
    pids_limit: int
    network_in_bytes: int
    network_out_bytes: int
    oom_kills: int


class SandboxUpdate(TypedDict):
    """Settings to change; omitted members stay as they are"""

    # idle time after which an ephemeral sandbox is deleted; 0: never
    idle_reap_ms: NotRequired[int]
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: never
    lifetime_max_ms: NotRequired[int]
    # idle time after which a sandbox is paused; 0: never
    autoPauseMs: NotRequired[int]
    # idle time after which a sandbox is stopped; 0: never
    autoStopMs: NotRequired[int]
    # time after a stop until the files move to the blob store; 0: never
    autoArchiveMs: NotRequired[int]
    # time after a stop until the sandbox is deleted, persistent or not; 0: never
    autoDeleteMs: NotRequired[int]
    # unique in the project
    name: NotRequired[str]
    # replace all labels; those that the server sets, atoll.*, stay
    labels: NotRequired[dict[str, str]]
    # the idle timeout does not delete the sandbox
    persistent: NotRequired[bool]
    # time from now at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never
    timeout_ms: NotRequired[int]
    # change it only if it has this version, else 409; the header If-Match does the same
    version: NotRequired[int]


class StatsHistory(TypedDict):
    """The newest samples of a sandbox; a running sandbox adds a current sample"""

    # oldest first
    items: list[StatsSample]
    memory_limit_bytes: int
    disk_limit_bytes: int


class StatsSample(TypedDict):
    """Resource usage of a sandbox at one time"""

    at: str | None
    # percent of one vCPU since the previous sample; the first sample counts from the start of the sandbox
    cpu_percent: float
    # since the start of the sandbox
    cpu_usage_us: int
    memory_bytes: int
    # size of the files on top of the template; -1: unknown
    disk_bytes: int
    pids: int
    network_in_bytes: int
    network_out_bytes: int


class Figures(TypedDict):
    """Current resource usage of many sandboxes"""

    at: str | None
    # started and paused sandboxes of this server
    items: list[SandboxFigures]
    # null in the events of a stream, which have all sandboxes
    next_page: str | None


class SandboxFigures(TypedDict):
    """Current resource usage of one of several sandboxes"""

    # its id
    sandbox: str
    # started or paused
    state: str
    sampled_at: str | None
    uptime_ms: int
    # since the start of the sandbox
    cpu_usage_us: int
    # percent of one vCPU since the sample before, which may be of another client; the first sample counts from the start
    cpu_percent: float
    memory_bytes: int
    memory_limit_bytes: int
    # size of the files on top of the template; -1: unknown
    disk_bytes: int
    disk_limit_bytes: int
    pids: int
    pids_limit: int
    network_in_bytes: int
    network_out_bytes: int
    oom_kills: int


class FiguresMessage(TypedDict):
    """The resource usage at one time; with SSE its event name is stats"""

    at: str | None
    items: list[SandboxFigures]


class Summary(TypedDict):
    """How much of everything a project has"""

    project: str
    sandboxes: SummarySandboxes
    # also those of the server
    templates: int
    # also those that wait
    builds_running: int
    volumes: int
    snapshots: int
    jobs_running: int
    approvals_pending: int
    # cost since midnight UTC, as it is metered by now
    cost_today: float
    # exact, in millionths
    cost_today_micro: int
    # USD
    currency: str


class SummarySandboxes(TypedDict):
    """Sandboxes by state, without deleted ones and those of builds"""

    pending: int
    creating: int
    started: int
    paused: int
    stopping: int
    stopped: int
    archived: int
    deleting: int
    failed: int
    total: int


class SnapshotCreate(TypedDict):
    """Options of a snapshot"""

    # unique in the project (default: its id)
    name: NotRequired[str]
    # answer when the snapshot is on disk (default true); the sandbox is not frozen for that time
    sync: NotRequired[bool]
    # include the processes (default false); only virtual machines can, the error of other sandboxes says why
    memory: NotRequired[bool]
    # also start a backup in the blob store; it outlives the snapshot and the server
    backup: NotRequired[bool]


class Snapshot(TypedDict):
    """The files of a sandbox at one moment"""

    id: str
    name: str
    project: str
    # id of the sandbox that the snapshot was taken of
    sandbox: str
    sandbox_name: str
    # id of the snapshot below the sandbox's files; null: only the template is below them
    parent: str | None
    template: str
    provider: str
    # making, ready, removing or lost
    state: str
    # rename: the sandbox was stopped; switch: its processes moved to another root; copy: its files were copied while the processes were frozen; memory: a copy with the memory of the processes
    method: str
    # why the files were copied instead of switched
    because: str | None
    # number of layers on top of the template
    depth: int
    # how long the processes were frozen
    frozen_ms: float
    created_at: str | None
    # bytes of its own layer, as last measured; -1: not measured yet
    size_bytes: int
    # number of sandboxes that were made of it and exist
    sandboxes: int
    # whether a backup of the snapshot is ready
    backup: bool
    # backups of the snapshot, ready or in progress; see /api/sandbox/backups
    backups: list[SnapshotBackup]
    # snapshots below it, uppermost first, at most 64, then the template; only GET of one snapshot returns it, other replies have null
    lineage: list[LineageStep] | None


class SnapshotBackup(TypedDict):
    """A backup of a snapshot"""

    id: str
    name: str
    # making or ready
    state: str
    # name in the blob store
    blob: str


class Fork(TypedDict):
    """Options of a fork"""

    # number of forks (default 1)
    count: NotRequired[int]
    # name of the fork; several forks get NAME-1, NAME-2 … (default: generated)
    name: NotRequired[str]
    # the forks continue with the processes of the sandbox and share its memory until they write it (default false); only virtual machines can
    memory: NotRequired[bool]


class Forked(TypedDict):
    """The forks and the snapshot below their files"""

    items: list[Sandbox]
    snapshot: Snapshot
    # volumes that the forks share with the original sandbox, all read-only
    volumes: list[AttachedVolume]
    # volumes that the original sandbox writes to; the forks do not have them
    volumes_left_out: list[AttachedVolume]


class SnapshotList(TypedDict):
    """One page of snapshots"""

    items: list[Snapshot]
    next_page: str | None


class SnapshotRestore(TypedDict):
    """Target of a restore"""

    # restore into a new sandbox with the snapshot's template; default false: restore into the snapshot's sandbox, or into a new one if that is deleted
    new: NotRequired[bool]
    # name of the new sandbox; implies new
    name: NotRequired[str]


class SnapshotExport(TypedDict):
    """Options of a backup"""

    # name of the backup, unique in the project (default: its id)
    name: NotRequired[str]
    # back up the whole filesystem, not only the changes since the template; such a backup can be imported on a server that lacks the template
    full: NotRequired[bool]


class Backup(TypedDict):
    """A snapshot packed into one file of the blob store"""

    id: str
    name: str
    project: str
    # id of the snapshot it was made from; that snapshot may be deleted or on another server
    snapshot: str
    snapshot_name: str
    template: str
    # making, ready, failed or removing
    state: str
    # progress, or why the backup failed
    state_text: str | None
    # SHA-256 of the whole file
    sha256: str | None
    # name in the blob store
    blob: str
    # size of the file in bytes
    size: int
    # number of files in the backup
    files: int
    # unpacked size of the files in bytes
    files_bytes: int
    # whether the backup contains the template's files, too
    full: bool
    created_at: str | None


class SnapshotImport(TypedDict):
    """Backup to make a snapshot from"""

    # name or id
    backup: str
    # name of the snapshot, unique in the project (default: its id)
    name: NotRequired[str]
    # template with the same files as the template of the backup, if it has another name here; a full backup creates a template of this name if none exists
    template: NotRequired[str]


class BackupList(TypedDict):
    """One page of backups"""

    items: list[Backup]
    next_page: str | None


class ArtifactKeep(TypedDict):
    """File to keep as an artifact"""

    # path of a file: absolute, or relative to the default folder
    path: str
    # user that reads the file (default: the template's user)
    user: NotRequired[str]
    # lifetime of the artifact; 0: the project's setting
    keep_seconds: NotRequired[int]


class StoredArtifact(TypedDict):
    """A stored file of a sandbox"""

    id: str
    project: str
    # id of the one it is of, which may be gone
    sandbox: str
    sandbox_name: str
    # of Atoll-Run
    run: str | None
    # number of the command that made it; 0 = not known
    process: int
    # of the background job that made it
    resultId: str | None
    # inside the sandbox
    path: str
    name: str
    # by name and content
    media_type: str
    size: int
    sha256: str
    created_at: str | None
    # time of its removal; null = it is not removed
    expires_at: str | None
    # path on this server that gives its bytes without a key; null for a key without sandbox:write
    url: str | None
    url_expires_at: str | None


class StoredArtifactList(TypedDict):
    """One page of artifacts"""

    items: list[StoredArtifact]
    next_page: str | None


class ArtifactUrl(TypedDict):
    """Lifetime of a signed address"""

    # lifetime of the address, at most seven days
    expires_in_seconds: int


class Exec(TypedDict):
    """A command: either command, or cmd and args"""

    # a shell line (bash, else sh)
    command: NotRequired[str]
    # a program, run without a shell
    cmd: NotRequired[str]
    # arguments of cmd
    args: NotRequired[list[str]]
    # working directory; a relative path is below the default folder
    cwd: NotRequired[str]
    # environment variables; they override the sandbox's variables
    env: NotRequired[dict[str, str]]
    # name or number of the user (default: the template's user)
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # time limit; the command and all its processes are killed afterwards; 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that a collected result keeps of each stream
    outputLimitBytes: NotRequired[int]
    # run as a background job; the reply comes at once and has a resultId to query the job by
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]
    # kill the command when this connection breaks; by default the command continues
    end_on_disconnect: NotRequired[bool]
    # run on a terminal; all output is stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings
    record: NotRequired[bool]
    # label shown in lists
    label: NotRequired[str]


class JobOrigin(TypedDict):
    """Where the turn came from, and so where the end of the job is told"""

    # stream: /v1/events, which tells of every job; webhook: agent.finished to the project's webhooks as well; else a message there
    type: NotRequired[Literal["none", "stream", "webhook", "slack", "discord", "telegram", "github", "zalo", "pancake"]]
    # of /v1/channels; else the one named as the type
    credential: NotRequired[str]
    # slack, discord: its id
    channel: NotRequired[str]
    # slack: ts of its first message; telegram: number of the topic
    thread: NotRequired[str]
    # discord, telegram: id of the one to reply to
    message: NotRequired[str]
    # telegram: its id or @name; pancake: id of the conversation
    chat: NotRequired[str]
    # zalo: id of the user
    user: NotRequired[str]
    # pancake: id of the page
    page: NotRequired[str]
    # github: OWNER/NAME
    repository: NotRequired[str]
    # github: number of the issue or pull request
    issue: NotRequired[str]


class Result(TypedDict):
    """The result of a command"""

    # exit code 0 and in time
    ok: bool
    # bash, sh, program, python …
    runtime: str
    # 0 when no program was started
    process: int
    # 128 + the signal that ended it; 127: no such program
    exit_code: int
    # such as SIGKILL
    signal: str | None
    timed_out: bool
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: str
    duration_ms: int
    # true when a waiting interpreter ran the code; else absent
    warm: NotRequired[bool]
    # at most outputLimitBytes: the first and the last half; a line between them has the number of cut bytes
    stdout: str
    # base64 when stdout is not UTF-8
    stdout_encoding: NotRequired[str]
    stderr: str
    stderr_encoding: NotRequired[str]
    truncated: bool
    # what network rules refused in the sandbox while it ran
    network: NotRequired[list[NetworkRefusal]]
    # id of the recording, when the call asked for one; it is listed a moment after the answer
    recording: NotRequired[str]
    # this and all further members: only of code in a context
    contextId: NotRequired[str]
    # number of the block in its interpreter
    execution_count: NotRequired[int]
    # the interpreter has ended, and its state is lost
    context_ended: NotRequired[bool]
    # the block's value, figures and displayed objects
    results: NotRequired[list[CodeResult]]
    # null when the block did not fail
    error: NotRequired[CodeError]
    # files that were stored, when the call asked for it
    artifacts: NotRequired[list[StoredArtifact]]


class NetworkRefusal(TypedDict):
    """A connection that the sandbox's network rules refused"""

    # null: only the address is known
    host: str | None
    address: str | None
    # 0: none
    port: int
    # tls, http, dns, tcp, udp or other
    protocol: str
    # host-not-allowed, address-denied, range-refused, bad-request, limit, upstream-unreachable, upstream-proxy-unreachable, upstream-proxy-login, upstream-proxy-refused, source-address-missing, direct-refused or quota
    code: str
    # the entry of the rules that decided
    rule: str | None
    count: int
    # for people and models
    message: str


class CodeResult(TypedDict):
    """What a block of code shows, in every form that it has"""

    # the value of the last expression
    is_main: bool
    text: NotRequired[str]
    html: NotRequired[str]
    markdown: NotRequired[str]
    svg: NotRequired[str]
    # base64
    png: NotRequired[str]
    # base64
    jpeg: NotRequired[str]
    # base64
    pdf: NotRequired[str]
    latex: NotRequired[str]
    json: NotRequired[Any]
    javascript: NotRequired[str]
    # a table: lists by column
    data: NotRequired[Any]
    # what a figure shows: type, title, axes, elements
    chart: NotRequired[Any]
    # of other media types, by their names
    extra: NotRequired[Any]


class CodeError(TypedDict):
    """How a block of code failed"""

    name: str
    value: str
    traceback: str


class CommandMessage(TypedDict):
    """A message of a command's stream"""

    # kind of the message; with SSE also its event name
    event: Literal["started", "stdout", "stderr", "exit", "error", "artifact"]
    # offsets after this message, STDOUT.STDERR: continue with since=
    since: str
    # with started and exit
    process: int
    # with started
    pid: int
    # with stdout and stderr: of the first byte of data
    offset: int
    # with stdout and stderr: output
    data: str
    # base64 when data is no UTF-8; else absent
    encoding: str
    # with exit
    ok: bool
    # with exit
    exit_code: int
    # with exit
    signal: str | None
    # with exit
    timed_out: bool
    # with exit
    cause: str
    # with exit
    duration_ms: int
    # with exit: a waiting interpreter ran the command
    warm: bool
    # with exit: id of the recording, when the call asked for one
    recording: str
    # with artifact: a stored file
    artifact: Any
    # with error: the member error of Error
    error: Any


class Code(TypedDict):
    """A block of code"""

    language: Literal["python", "javascript", "typescript", "bash", "r", "java"]
    # at most 128 KiB
    code: str
    # context that runs the code and keeps its state; 'default': the default context of the language, created if missing
    contextId: NotRequired[str]
    # working directory; a relative path is below the default folder
    cwd: NotRequired[str]
    # environment variables; they override the sandbox's variables
    env: NotRequired[dict[str, str]]
    # name or number of the user (default: the template's user)
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # time limit; the command and all its processes are killed afterwards; 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that a collected result keeps of each stream
    outputLimitBytes: NotRequired[int]
    # run as a background job; the reply comes at once and has a resultId to query the job by
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]
    # kill the command when this connection breaks; by default the command continues
    end_on_disconnect: NotRequired[bool]
    # run on a terminal; all output is stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings
    record: NotRequired[bool]
    # label shown in lists
    label: NotRequired[str]


class CodeMessage(TypedDict):
    """A message of the stream of a block of code"""

    # kind of the message; with SSE also its event name
    event: Literal["started", "stdout", "stderr", "result", "error", "exit", "artifact"]
    # with started and exit
    contextId: str
    # with started and exit
    process: int
    # with started and exit
    execution_count: int
    # with stdout and stderr: output
    data: str
    # with result: a CodeResult
    result: Any
    # with error of the code: its class
    name: str
    # with error of the code: its message
    value: str
    # with error of the code
    traceback: str
    # with error of the call: the member error of Error
    error: Any
    # with exit
    ok: bool
    # with exit
    exit_code: int
    # with exit
    signal: str | None
    # with exit
    timed_out: bool
    # with exit
    cause: str
    # with exit
    duration_ms: int
    # with exit: the interpreter ended; restart the context
    context_ended: bool
    # with exit: id of the recording, when the call asked for one
    recording: str
    # with artifact: a stored file
    artifact: Any


class ProcessList(TypedDict):
    """Processes, oldest first"""

    items: list[Process]


class Process(TypedDict):
    """A command that was started in a sandbox"""

    # its number in this sandbox
    process: int
    # inside the sandbox
    pid: int
    # running or ended
    state: str
    # -1 while it runs
    exit_code: int
    # that ended it, such as SIGKILL
    signal: str | None
    timed_out: bool
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); null while it runs
    cause: str | None
    started_at: str | None
    duration_ms: int
    # written so far
    stdout_bytes: int
    stderr_bytes: int
    tty: bool
    # code in an interpreter that waited for it
    warm: bool
    label: str
    user: str
    cwd: str
    args: list[str]


class Count(TypedDict):
    """Number of entries or bytes"""

    count: int


class Signal(TypedDict):
    """A signal for a process"""

    # SIGTERM, TERM or 15
    signal: str
    # signal all processes that it started, not only its process group
    tree: NotRequired[bool]


class FileList(TypedDict):
    """Files and folders"""

    items: list[FileEntry]
    truncated: bool
    # of GET: value of after for the next page; null: there is no next page
    next_after: str | None
    # of GET: time of the request, unix ms by the sandbox's clock
    listed_at_ms: int


class FileEntry(TypedDict):
    """A file or folder"""

    # as in the request, or relative to the listed folder
    path: str
    name: str
    # file, directory, symlink or other
    type: str
    size: int
    # octal
    mode: str
    uid: int
    gid: int
    modified_at: str | None
    # target of a symlink
    link: str | None


class WatchMessage(TypedDict):
    """A message of a watched folder"""

    # kind of the change, or error; with SSE also its event name
    event: str
    # with a change
    path: str
    # with a change
    is_directory: bool
    # with error: the member error of Error
    error: Any


class FileMkdir(TypedDict):
    """A folder to create"""

    # absolute path, or path below the default folder
    path: str
    user: NotRequired[str]
    # octal (default 0755)
    mode: NotRequired[str]
    # create missing parents; an existing folder is not an error
    parents: NotRequired[bool]


class FileMove(TypedDict):
    """A path and its new path"""

    # absolute path, or path below the default folder
    path: str
    # the new path
    target: str
    user: NotRequired[str]
    # create missing parents of the target
    parents: NotRequired[bool]
    # fail when the target exists
    no_replace: NotRequired[bool]
    # copy folders recursively
    recursive: NotRequired[bool]


class FileRemove(TypedDict):
    """A path to delete"""

    # absolute path, or path below the default folder
    path: str
    user: NotRequired[str]
    recursive: NotRequired[bool]


class FileRead(TypedDict):
    """A file to read as text"""

    # absolute path, or path below the default folder
    path: str
    user: NotRequired[str]
    # offset of the first byte
    offset: NotRequired[int]
    # bytes at most (default 1 MiB)
    length: NotRequired[int]


class FileContent(TypedDict):
    """Bytes of a file inside JSON"""

    path: str
    content: str
    # base64 when the content is not UTF-8
    encoding: str
    # size of the whole file
    size: int
    # first byte, or first line, of this page
    offset: int
    # bytes of this page, in a read by bytes
    length: int
    # lines of this page, in a read by lines
    lines: int
    total_lines: int
    # start of the next page; null at the end
    next_offset: int | None
    # the file has more
    truncated: bool


class FilePack(TypedDict):
    """A folder and the paths to pack"""

    # absolute path, or path below the default folder
    path: str
    # paths relative to the folder; a folder is packed without its content; missing and unreadable paths are left out
    names: list[str]
    user: NotRequired[str]


class FileWrite(TypedDict):
    """A file to write"""

    # absolute path, or path below the default folder
    path: str
    user: NotRequired[str]
    # text
    content: NotRequired[str]
    # bytes, instead of content
    content_base64: NotRequired[str]
    # octal mode of a new file
    mode: NotRequired[str]
    append: NotRequired[bool]
    # fail when the file exists
    no_replace: NotRequired[bool]


class Terminal(TypedDict):
    """A terminal to open"""

    # name of the window; an open window with this name is reused (default: a new window with a generated name)
    name: NotRequired[str]
    # default 24
    rows: NotRequired[int]
    # default 80
    cols: NotRequired[int]
    # idle time after which the terminal closes, unless a process runs in it (default: the project's setting)
    ttl_s: NotRequired[int]
    # record the window from its earliest stored output on; the setting record_terminals does this for all new windows; /api/sandbox/recordings lists the recording when the window has closed
    record: NotRequired[bool]
    # shell command line (default: a login shell)
    command: NotRequired[str]
    cwd: NotRequired[str]
    user: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # sessionId of an open terminal; the reply only has a new path to it
    session: NotRequired[str]


class TerminalSession(TypedDict):
    """An open terminal"""

    sessionId: str
    # path of the WebSocket with a ticket instead of a key; the ticket works once within a minute
    path: str
    process: int
    # name of the window; null if the request named a session
    name: str | None
    # false: the terminal was already open
    created: bool


class TerminalMessage(TypedDict):
    """A text message of the server; output comes as binary messages"""

    type: Literal["started", "typing", "taken_over", "dropped", "stderr", "exit"]
    # with started
    process: int
    # with started
    pid: int
    # with started
    tty: bool
    # with started: the client's own number; with typing and taken_over: the viewer's, null for a call
    viewer: int | None
    # with started: input is accepted
    writes: bool
    # with typing and taken_over: name of the viewer's key or user
    who: str | None
    # with dropped: bytes of output that this viewer missed
    bytes: int
    # with stderr
    offset: int
    # with stderr
    data: str
    # with stderr: base64 or absent
    encoding: str
    # with exit
    exit_code: int
    # with exit
    signal: str | None
    # with exit
    timed_out: bool
    # with exit
    cause: str


class TerminalControl(TypedDict):
    """A text message of the client; input is sent as binary messages"""

    type: Literal["resize", "signal", "eof", "takeover"]
    # with resize
    rows: int
    # with resize: another name of cols
    columns: int
    # with resize
    cols: int
    # with signal, such as INT
    signal: str


class TemplateList(TypedDict):
    """Templates, sorted by name; one page of them with limit"""

    items: list[Template]
    next_page: str | None


class Template(TypedDict):
    """The root filesystem and settings of new sandboxes"""

    id: str
    name: str
    # null: shared by all projects
    project: str | None
    description: str
    # pending, building, ready or failed
    state: str
    # progress, or why the build failed
    state_text: str
    base_image: str
    runtime: str
    # the least isolation of its sandboxes; null: the server's default
    isolation: str | None
    # provider of its sandboxes; null: the server chooses
    provider: str | None
    # default user for commands
    user: str
    workdir: str
    # object of strings
    env: Any
    # list of strings
    entrypoint: Any
    # list of numbers
    ports: Any
    # command that checks during the build whether the entrypoint is ready
    ready_command: str | None
    # built from steps on top of base_image
    built: bool
    # 0: inherited
    resources: Any
    # min, target and max; 0: no pool
    pool: Any
    # interpreters that the template's sandboxes keep ready
    warm: Any
    # pause_ms, stop_ms, reap_ms and lifetime_max_ms; 0: inherited, -1: never
    idle: Any
    # other projects can use the template by its id
    public: bool
    # an image that was pulled by its name; removed when it has not been used for long
    pulled: bool
    # last use of a pulled image
    used_at: str | None
    size_bytes: int
    created_at: str | None
    updated_at: str | None
    # number of the project's sandboxes of it; only lists and GET count them
    sandboxes: int


# A template from a registry's image or another template
TemplateCreate = TypedDict("TemplateCreate", {
    "resources": "NotRequired[TemplateResources]",
    "pool": "NotRequired[PoolSize]",
    "idle": "NotRequired[IdleTimes]",
    "public": "NotRequired[bool]",
    "description": "NotRequired[str]",
    "runtime": "NotRequired[str]",
    "isolation": "NotRequired[str]",
    "provider": "NotRequired[str]",
    "user": "NotRequired[str]",
    "workdir": "NotRequired[str]",
    "env": "NotRequired[dict[str, str]]",
    "warm": "NotRequired[list[TemplateWarm]]",
    "entrypoint": "NotRequired[list[str]]",
    "ports": "NotRequired[Any]",
    "name": "str",
    "image": "NotRequired[str]",
    "login": "NotRequired[RegistryLogin]",
    "from": "NotRequired[str]",
})


class TemplateResources(TypedDict):
    """Limits of sandboxes that request none"""

    # vCPUs; 0: inherited
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class PoolSize(TypedDict):
    """Size of a pool of prepared sandboxes"""

    # number of sandboxes kept while the pool is unused (default: target)
    min: NotRequired[int]
    # number of sandboxes kept while the pool is used; 0: no pool
    target: NotRequired[int]
    # upper limit when misses let the pool grow (default: twice the target)
    max: NotRequired[int]
    # only the server's default is supported
    internet: NotRequired[bool]


class IdleTimes(TypedDict):
    """Idle times of sandboxes; omitted members keep their values"""

    # idle time after which an ephemeral sandbox is deleted; 0: the setting of the project or server
    reap_ms: NotRequired[int]
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the setting of the project or server
    lifetime_max_ms: NotRequired[int]
    # idle time after which a sandbox is paused; 0: the setting of the project or server; -1: never
    pause_ms: NotRequired[int]
    # idle time after which a sandbox is stopped; 0: the setting of the project or server; -1: never
    stop_ms: NotRequired[int]


class TemplateWarm(TypedDict):
    """An interpreter that each sandbox keeps ready for code"""

    # python or javascript
    language: str
    # modules that the interpreter imports in advance
    imports: NotRequired[list[str]]


class RegistryLogin(TypedDict):
    """Name and password for a registry"""

    username: str
    # or a token; the server keeps neither
    password: str


class TemplatesSeeded(TypedDict):
    """Number of added templates"""

    added: int


class TemplateChange(TypedDict):
    """Given members replace the stored ones"""

    resources: NotRequired[TemplateResources]
    pool: NotRequired[PoolSize]
    idle: NotRequired[IdleTimes]
    # other projects can use the template by its id
    public: NotRequired[bool]
    description: NotRequired[str]
    # free-form label of the purpose
    runtime: NotRequired[str]
    # the least isolation that its sandboxes accept, unless their request names another; "": the server's default
    isolation: NotRequired[str]
    # provider of its sandboxes, unless their request names another; "": the server chooses
    provider: NotRequired[str]
    # default user for commands
    user: NotRequired[str]
    # an absolute path
    workdir: NotRequired[str]
    # environment; replaces the whole stored one
    env: NotRequired[dict[str, str]]
    # interpreters that the template's sandboxes keep ready for code
    warm: NotRequired[list[TemplateWarm]]
    # program and arguments that a sandbox starts
    entrypoint: NotRequired[list[str]]
    # list of up to 64 numbers from 1 to 65535
    ports: NotRequired[Any]


class KeyList(TypedDict):
    """Keys"""

    items: list[Key]


class Key(TypedDict):
    """A key, without its text"""

    id: str
    name: str
    # first characters of the key's text
    prefix: str
    project: str
    scopes: list[str]
    member: str | None
    # role of the member; it limits the scopes
    role: str | None
    # user or key that made it; null: not known
    made_by: str | None
    created_at: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class KeyCreate(TypedDict):
    """A key to create"""

    name: str
    # scopes such as sandbox:read; default: all scopes of the caller that the member's role allows, except admin
    scopes: NotRequired[list[str]]
    # user that owns the key; the key is limited to the user's role and is revoked when the membership ends. Default: the caller, if it is a member, unless the key has the scope admin. Empty: the key belongs to the project
    member: NotRequired[str]
    # default: never
    expires_at: NotRequired[str | None]
    # lifetime in ms, instead of expires_at; 0: never
    expires_in_ms: NotRequired[int]


class KeyMade(TypedDict):
    """A new key, with its text"""

    id: str
    name: str
    # first characters of the key's text
    prefix: str
    project: str
    scopes: list[str]
    member: str | None
    # role of the member; it limits the scopes
    role: str | None
    # user or key that made it; null: not known
    made_by: str | None
    created_at: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    # text of the key; returned only once
    key: str
    # the same key in the format of E2B's API
    e2b_key: str


class KeyRotate(TypedDict):
    """Validity of the old text"""

    # how long the old text remains valid, at most 7 days; 0: not at all
    grace_ms: NotRequired[int]


class ProjectList(TypedDict):
    """Projects, sorted by name"""

    items: list[Project]
    next_page: str | None


class Project(TypedDict):
    """Owns keys, templates and sandboxes; a platform admin selects a project with the header X-Atoll-Project"""

    id: str
    name: str
    # id of its organisation
    organization: str
    sandboxes_max: int
    # 0: the platform's setting
    storage_max_mb: int
    defaults: Limits
    maximums: Limits
    # the project is being deleted
    closing: bool
    # provider of its sandboxes; null: the server chooses
    provider: str | None
    # the least isolation of its sandboxes; null: the server's default
    isolation: str | None
    # by which connections of its sandboxes leave; null: any
    source_address: str | None
    created_at: str | None


class Limits(TypedDict):
    """Limits of a sandbox"""

    # vCPUs; 0 = not set
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    pids: NotRequired[int]


class ProjectCreate(TypedDict):
    """A project to create"""

    name: str
    # 0: the platform's setting; only a platform admin can set it
    sandboxes_max: NotRequired[int]
    # MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it
    storage_max_mb: NotRequired[int]
    # limits of sandboxes that request none
    defaults: NotRequired[Limits]
    # limits that no sandbox exceeds; only a platform admin can set them
    maximums: NotRequired[Limits]
    # id of the organisation that it belongs to (default: the first); only a platform admin can set it
    organization: NotRequired[str]
    # provider of its sandboxes, unless their request or template names another; "": the server chooses
    provider: NotRequired[str]
    # the least isolation that its sandboxes accept, unless their request or template names another; "": the server's default
    isolation: NotRequired[str]
    # IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; "": any; only a platform admin can set it
    source_address: NotRequired[str]
    # default: generated
    id: NotRequired[str]
    # user that becomes the first member, with the role admin
    owner: NotRequired[str]


class ProjectChange(TypedDict):
    """Given members replace the stored ones"""

    name: NotRequired[str]
    # 0: the platform's setting; only a platform admin can set it
    sandboxes_max: NotRequired[int]
    # MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it
    storage_max_mb: NotRequired[int]
    # limits of sandboxes that request none
    defaults: NotRequired[Limits]
    # limits that no sandbox exceeds; only a platform admin can set them
    maximums: NotRequired[Limits]
    # id of the organisation that it belongs to (default: the first); only a platform admin can set it
    organization: NotRequired[str]
    # provider of its sandboxes, unless their request or template names another; "": the server chooses
    provider: NotRequired[str]
    # the least isolation that its sandboxes accept, unless their request or template names another; "": the server's default
    isolation: NotRequired[str]
    # IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; "": any; only a platform admin can set it
    source_address: NotRequired[str]


class ProjectStorage(TypedDict):
    """Storage that a project uses, as last measured, and its limit"""

    # 0 = no limit
    limit_mb: int
    # sum of the members below
    bytes: int
    templates_bytes: int
    snapshots_bytes: int
    # includes archived sandboxes
    backups_bytes: int
    volumes_bytes: int


class SecretRotation(TypedDict):
    """Result of a rotation"""

    # number of values that were encrypted again
    resealed: int


class GatewayExecute(TypedDict):
    """A block of code"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    code: str
    # default python
    language: NotRequired[Literal["python", "javascript", "typescript", "bash", "r", "java"]]
    stdin: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that are kept of each stream
    outputLimitBytes: NotRequired[int]
    # folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # run as a background job; the reply comes at once and has a resultId
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]


class GatewayResult(TypedDict):
    """The result of a command, and the files it left"""

    # exit code 0 and in time
    ok: bool
    # bash, sh, program, python …
    runtime: str
    # 0 when no program was started
    process: int
    # 128 + the signal that ended it; 127: no such program
    exit_code: int
    # such as SIGKILL
    signal: str | None
    timed_out: bool
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: str
    duration_ms: int
    # true when a waiting interpreter ran the code; else absent
    warm: NotRequired[bool]
    # at most outputLimitBytes: the first and the last half; a line between them has the number of cut bytes
    stdout: str
    # base64 when stdout is not UTF-8
    stdout_encoding: NotRequired[str]
    stderr: str
    stderr_encoding: NotRequired[str]
    truncated: bool
    # what network rules refused in the sandbox while it ran
    network: NotRequired[list[NetworkRefusal]]
    # id of the recording, when the call asked for one; it is listed a moment after the answer
    recording: NotRequired[str]
    # files of the workspace that were made or changed during the call: path (in the workspace), size and media_type; when the call asked to store them, the stored artifacts
    artifacts: list[StoredArtifact]


class GatewayBash(TypedDict):
    """A shell command"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # a shell line
    command: str
    stdin: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that are kept of each stream
    outputLimitBytes: NotRequired[int]
    # folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # run as a background job; the reply comes at once and has a resultId
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]


class GatewayRead(TypedDict):
    """Lines of a text file"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # path relative to the workspace
    path: str
    # first line to read (default 1)
    offset: NotRequired[int]
    # maximum number of lines (default 2000)
    limit: NotRequired[int]


class GatewayReadBinary(TypedDict):
    """Bytes of a file"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # path relative to the workspace
    path: str
    # offset of the first byte
    offset: NotRequired[int]
    # maximum number of bytes (default 8 MiB)
    limit: NotRequired[int]


class GatewayWrite(TypedDict):
    """A file to write"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # path relative to the workspace
    path: str
    content: NotRequired[str]
    # bytes, instead of content
    content_base64: NotRequired[str]
    append: NotRequired[bool]


class GatewayGrep(TypedDict):
    """Search request"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # a regular expression
    pattern: str
    # file or folder to search (default: the workspace)
    path: NotRequired[str]
    # only files whose names match this pattern
    glob: NotRequired[str]
    ignore_case: NotRequired[bool]
    # default 200
    max_results: NotRequired[int]


class GatewayMatches(TypedDict):
    """Matching lines"""

    matches: list[GatewayMatch]
    truncated: bool


class GatewayMatch(TypedDict):
    """A matching line"""

    # path relative to the workspace
    path: str
    # line number, from 1
    line: int
    # the line, cut to 1000 bytes
    text: str
    # base64 if the text is not UTF-8
    encoding: str


class GatewayGlob(TypedDict):
    """A pattern of paths"""

    # default: "default"
    tenant_id: NotRequired[str]
    # the first call of a session creates its sandbox
    session_id: str
    # pattern with ? * [a-z], and ** for any depth of folders
    pattern: str
    # folder to search (default: the workspace)
    path: NotRequired[str]
    # maximum number of paths (default 1000)
    limit: NotRequired[int]


class GatewayPaths(TypedDict):
    """Paths that match"""

    # paths relative to the searched folder
    paths: list[str]
    truncated: bool


class GatewayCopy(TypedDict):
    """Files to write into a session's workspace"""

    files: list[GatewayFile]


class GatewayFile(TypedDict):
    """A file and its content"""

    path: str
    content: NotRequired[str]
    content_base64: NotRequired[str]


class SessionList(TypedDict):
    """Sessions"""

    items: list[Session]


class Session(TypedDict):
    """A tenant's session and its sandbox"""

    tenant_id: str
    session_id: str
    sandbox_id: str
    created_at: str | None
    last_used_at: str | None


class ToolList(TypedDict):
    """The agent tools"""

    # name, title, description, inputSchema, outputSchema and annotations of each
    tools: Any


class ToolCall(TypedDict):
    """A call of a tool, in one sandbox"""

    # how long to wait for the approval of a call that needs one (default 20 s)
    approvalWaitMs: NotRequired[int]
    # settings of the sandbox that an ephemeral call makes
    sandbox: NotRequired[SandboxSpecification]
    # true, or a config, a workspace or settings without a sandbox, lease or session: a sandbox is made for the call and ends with it; without a workspace only bash is offered
    ephemeral: NotRequired[bool]
    # workspace whose files an ephemeral call, or the lease's sandbox, has at /mnt/workspaces/NAME
    workspace: NotRequired[str]
    # id or name of a sandbox; or
    sandboxId: NotRequired[str]
    # key of a lease, whose sandbox is made on first use; or
    lease: NotRequired[str]
    # a session, as of /v1/sandbox
    sessionId: NotRequired[str]
    # of the session; default: "default"
    tenantId: NotRequired[str]
    # a config of /accounts/me/sandboxes for the lease's sandbox and for the limits of tools; default: the sandbox's own config
    config: NotRequired[str]
    # the conversation that owns the call's background jobs
    conversationId: NotRequired[str]
    # source of the conversation's message: the ends of background jobs are reported there, and approvals show it
    origin: NotRequired[JobOrigin]
    # an object of the tool's inputSchema
    input: NotRequired[Any]


class SandboxSpecification(TypedDict):
    """Settings of the sandbox that a call makes"""

    # false: no network
    internet: NotRequired[bool]
    # blocked or internet; same as the member internet
    network: NotRequired[Literal["blocked", "internet"]]
    # false: no previews of the sandbox (default true)
    previewEnabled: NotRequired[bool]
    # the idle timeout does not delete the sandbox
    persistent: NotRequired[bool]
    # name or id (default: the server's default template)
    template: NotRequired[str]
    # image of a registry, instead of a template; pulled if the project does not have it yet
    image: NotRequired[str]
    # of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing)
    pull: NotRequired[Literal["missing", "always", "never"]]
    # name or id of a snapshot; the sandbox starts with its files and on its template
    snapshot: NotRequired[str]
    # id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here
    config: NotRequired[str]
    # name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request)
    provider: NotRequired[str]
    # the least isolation that is accepted (default: that of the first provider)
    isolation: NotRequired[Literal["none", "namespaces", "gvisor", "microvm", "remote"]]
    # free-form label of the location; the server only stores it
    region: NotRequired[str]
    # labels to filter lists by
    labels: NotRequired[dict[str, str]]
    # environment of every command; overrides the template's environment; never returned
    env: NotRequired[dict[str, str]]
    resources: NotRequired[ResourcesRequest]
    # GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number
    gpus: NotRequired[int]
    # allow shared links to previews (default false)
    previewPublic: NotRequired[bool]
    # destinations that the sandbox may reach (default: all that the server permits)
    egress: NotRequired[SandboxEgress]
    # name or id of a volume to mount writable at /workspace
    volume: NotRequired[str]
    # volumes to mount at chosen paths
    volumes: NotRequired[list[SandboxVolume]]
    # KEY: the volume home-KEY is mounted at /home/user and created if missing
    persistentHome: NotRequired[str]
    # size limit of that volume in GiB when it is created (default: no limit)
    persistentDiskGb: NotRequired[int]
    # NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them
    workspace: NotRequired[str]
    # parent folder of the workspace (default /mnt/workspaces)
    workspaceRoot: NotRequired[str]
    # time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never
    timeout_ms: NotRequired[int]
    # idle time after which an ephemeral sandbox is deleted; 0: the server's setting
    idle_reap_ms: NotRequired[int]
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting
    lifetime_max_ms: NotRequired[int]
    # idle time after which a sandbox is paused; 0: the server's setting; -1: never
    autoPauseMs: NotRequired[int]
    # idle time after which a sandbox is stopped; 0: the server's setting; -1: never
    autoStopMs: NotRequired[int]
    # time after a stop until the files move to the blob store; 0: never
    autoArchiveMs: NotRequired[int]
    # time after a stop until the sandbox is deleted, persistent or not; 0: never
    autoDeleteMs: NotRequired[int]


class ToolResult(TypedDict):
    """The result of a tool"""

    # a list of texts, images and resources, as in MCP
    content: Any
    # an object of the tool's outputSchema
    structuredContent: Any
    # with status 202: the call did nothing, see /v1/approvals. Repeat the same call after the approval
    approvalId: str


class ApprovalList(TypedDict):
    """Calls, newest first"""

    items: list[Approval]
    next_page: str | None


class Approval(TypedDict):
    """A call that needs approval"""

    id: str
    tool: str
    # input of the call as JSON text; a long one is cut
    input: str
    # input of the call as an object; null: it is cut
    inputObject: Any
    # pending, approved, refused, used or expired
    state: str
    sandboxId: str | None
    conversationId: str | None
    # source of the conversation's message, as the caller names it
    origin: JobOrigin | None
    # key that made the call
    keyId: str
    keyName: str | None
    note: str | None
    # id of the key that decided
    decidedBy: str | None
    # name of that key
    decidedByName: str | None
    createdAt: str | None
    decidedAt: str | None
    # a pending call must be decided, and an approved call be made, by then
    expiresAt: str | None


class ApprovalDecision(TypedDict):
    """A note on the decision"""

    # shown to the caller
    note: NotRequired[str]


class EgressAllow(TypedDict):
    """A host to allow"""

    # a host name, *.name, an address or a range
    host: str


class EgressCheck(TypedDict):
    """What the network rules of a sandbox would decide"""

    host: str
    port: int
    # allowed, denied or watched
    decision: str
    # as in the log of decisions
    code: str
    rule: str | None
    # for people
    reason: str


class EgressPresetList(TypedDict):
    """Presets of network rules"""

    items: list[EgressPreset]


class EgressPreset(TypedDict):
    """A named list of hosts to allow"""

    name: str
    about: str
    hosts: list[str]


class ConsentList(TypedDict):
    """Consents, newest first"""

    items: list[Consent]


class Consent(TypedDict):
    """A person's consent to the use of a credential in a sandbox"""

    id: str
    sandboxId: str
    conversationId: str | None
    credential: str
    # of the credential
    version: int
    # separated by blanks
    hosts: str
    state: Literal["active", "expired", "revoked"]
    approvalId: str | None
    decidedBy: str
    expiresAt: str | None
    revokedAt: str | None
    createdAt: str | None


class ConsentsRevoked(TypedDict):
    """What was revoked"""

    # number of consents that ended
    revoked: int


class SkillList(TypedDict):
    """Skills by name"""

    items: list[Skill]


class Skill(TypedDict):
    """A stored skill of the project"""

    name: str
    description: str
    # number of files
    files: int
    # bytes
    size: int
    updatedAt: str | None


class SkillPut(TypedDict):
    """A skill"""

    # when to use it
    description: NotRequired[str]
    # must have a SKILL.md; at most 2 MiB in all
    files: list[SkillFile]


class SkillFile(TypedDict):
    """A file of a skill"""

    # relative to the skill's folder
    path: str
    # base64
    content: NotRequired[str]


class McpAnswer(TypedDict):
    """A message of JSON-RPC"""

    # 2.0
    jsonrpc: str
    id: Any
    result: Any
    error: Any


class Health(TypedDict):
    """State of the process"""

    status: str
    version: str


class Readiness(TypedDict):
    """Whether the server can create a sandbox now; status 503 with reason and cure if not"""

    # ready, not_ready or draining
    status: str
    version: str
    provider: str
    checked_at: NotRequired[str | None]
    checks: list[ReadinessCheck]
    # problems that do not prevent sandboxes, such as a missing default route on the host
    warnings: NotRequired[list[ReadinessFailure]]
    # all providers, when the server has several
    providers: NotRequired[list[ReadinessProvider]]
    error: NotRequired[ReadinessFailure]


class ReadinessCheck(TypedDict):
    """One readiness check"""

    # what the check tried
    name: str
    ok: bool
    # milliseconds
    took_ms: float
    # stable code for programs
    code: NotRequired[str]
    reason: NotRequired[str]
    cure: NotRequired[str]


class ReadinessFailure(TypedDict):
    """A failed check, in the form of an API error"""

    # code of the first failed check
    code: str
    # reason of the failure
    message: str
    # how to fix it
    hint: str


class ReadinessProvider(TypedDict):
    """The state of a provider; only the first decides about the status"""

    name: str
    isolation: str
    connected: bool
    healthy: bool


class Server(TypedDict):
    """The server that answers, its peers, configuration and metrics"""

    version: str
    # compiler, machine and kind of build
    build: str
    provider: str
    # name of the server that answers
    node: str
    started_at: str | None
    uptime_ms: int
    # ready, not_ready, draining, or unknown before the first check; /readyz makes a check
    readiness: str
    # time of the last readiness check
    checked_at: str | None
    # why it is not ready
    reason: str | None
    cure: str | None
    nodes: list[ServerNode]
    # all options with their effective values
    configuration: list[ServerOption]
    metrics: ServerMetrics


class ServerNode(TypedDict):
    """A server of this store"""

    # name of the server
    node: str
    # address for its peers (--peer-url)
    url: str | None
    # up, silent or stopped
    state: str
    # its last heartbeat
    seen_at: str | None
    # -1: it has stopped
    heartbeat_age_ms: int
    # the server that answers
    self: bool


class ServerOption(TypedDict):
    """An option of the server"""

    name: str
    # **** stands for a secret
    value: str
    default: str
    # default, file, env or flag
    source: str
    description: str
    # a change applies when the server has restarted
    needs_restart: bool


class ServerMetrics(TypedDict):
    """A summary of /metrics, of the server that answers"""

    # open now
    connections: int
    # open now
    streams: int
    # behind other requests of their key
    requests_waiting: int
    # since the start, as all counts below
    bytes_in: int
    bytes_out: int
    responses_2xx: int
    responses_3xx: int
    responses_4xx: int
    responses_5xx: int
    # creates that got a prepared sandbox
    pool_hits: int
    pool_misses: int
    # prepared sandboxes now
    pool_ready: int
    pool_target: int
    # calls that wait for the broker's answer now
    broker_calls_waiting: int
    requests: ServerTiming
    # calls that measure the store
    store: ServerTiming
    lanes: list[ServerLane]


class ServerTiming(TypedDict):
    """Durations since the start"""

    # since the start
    count: int
    failures: int
    mean_ms: float
    # upper bound of the median's bucket
    p50_ms: float
    p99_ms: float


class ServerLane(TypedDict):
    """The queue of one kind of work"""

    lane: str
    running: int
    waiting: int
    longest_wait_ms: int
    # since the start
    refused: int


class Providers(TypedDict):
    """The providers of this server in the order in which they are tried"""

    items: list[Provider]


class Provider(TypedDict):
    """A provider of sandboxes and its health"""

    name: str
    # native, host, null …
    kind: str
    # keeps templates, snapshots, volumes and pools
    primary: bool
    isolation: str
    abilities: list[str]
    # abilities that the provider lacks
    unsupported: list[str]
    # false: its program has not answered since the server started
    connected: bool
    # false: its last creates or checks failed
    healthy: bool
    # its sandboxes that are neither deleted nor failed
    sandboxes: int
    # 0: no limit
    max_sandboxes: int
    # it was added at run time and can be removed
    stored: bool
    # it makes no more sandboxes, and is removed after its last one
    draining: bool
    # a create may name it, though it isolates less than the first
    allow_weaker: bool
    # US dollars of a sandbox's active hour; 0: not set
    price_hour: float
    # US dollars that its sandboxes have cost today (UTC)
    cost_day: float
    # the same of this month
    cost_month: float
    # 0: no limit
    max_cost_day: float
    # 0: no limit
    max_cost_month: float
    # after this time a create goes on with the next provider; 0: the default, 20 seconds
    create_timeout_ms: int
    # 0: no limit
    max_p99_ms: int
    # its recent creates are above max_p99_ms: it is tried last
    slow: bool
    # of virtual machines: kvm, or tcg, which emulates processors
    accelerator: str | None
    # why it is that accelerator
    accelerator_because: str | None
    # null: it runs none before they are asked for
    warm: ProviderWarm | None
    # since the server started
    creates: int
    # creates that the provider failed
    failures: int
    # median of the last creates in milliseconds; 0: none yet
    p50_ms: float
    # 99th percentile of the last creates in milliseconds
    p99_ms: float
    last_error: str | None
    # time of the last error
    failed_at: str | None


class ProviderWarm(TypedDict):
    """Sandboxes that the provider runs before they are asked for"""

    # run, and wait for a create
    ready: int
    starting: int
    # kubernetes_warm_pods of each shape that was asked for lately
    wanted: int
    # creates that got one since the server started
    hits: int
    # creates for which none was ready
    misses: int


class ProviderAdd(TypedDict):
    """A provider that every server on this store opens"""

    name: str
    # as GET /v1/providers/kinds lists them (default: the name)
    kind: NotRequired[str]
    # max_sandboxes, price_hour and the other settings of a provider in the configuration file, and the options of its kind; secrets are stored encrypted and never returned
    settings: NotRequired[dict[str, str]]


class ProviderAdded(TypedDict):
    """The provider is stored; servers open it within seconds"""

    name: str
    kind: str


class ProviderKinds(TypedDict):
    """The kinds of providers of this program"""

    items: list[ProviderKind]


class ProviderKind(TypedDict):
    """A kind of provider and its options"""

    kind: str
    isolation: str
    options: list[ProviderOption]


class ProviderOption(TypedDict):
    """An option of one kind of provider"""

    name: str
    secret: bool
    required: bool
    about: str


class ProviderSet(TypedDict):
    """Settings and secrets of a provider that was added at run time"""

    # settings to change, as in POST /v1/providers; "" returns to the default; others stay
    settings: dict[str, str]


class ProviderRemoved(TypedDict):
    """The result of a removal"""

    name: str
    # false: it drains, and is removed after its last sandbox
    removed: bool
    # that it still has, on all servers
    sandboxes: int


class Routing(TypedDict):
    """The rules that choose providers; the first match decides"""

    # configuration, or stored: they were set by this API
    source: str
    rules: list[RoutingRule]


class RoutingRule(TypedDict):
    """Which providers make the sandboxes that meet every condition; bounds are inclusive"""

    name: str
    # id of the project
    project: NotRequired[str]
    # KEY or KEY=VALUE
    label: NotRequired[str]
    # its name or its id
    template: NotRequired[str]
    # that is asked for, exactly
    isolation: NotRequired[str]
    memory_mb_min: NotRequired[int]
    memory_mb_max: NotRequired[int]
    cpu_min: NotRequired[float]
    cpu_max: NotRequired[float]
    # US dollars of an active hour by the server's prices
    price_min: NotRequired[float]
    price_max: NotRequired[float]
    # in the order in which they are tried
    providers: list[str]


class RoutingPut(TypedDict):
    """Rules for every server on this store; the first match decides"""

    rules: list[RoutingRule]


class ProviderCheck(TypedDict):
    """The provider made a sandbox and ended it"""

    name: str
    # milliseconds
    took_ms: float
    # as of the provider
    accelerator: str | None
    accelerator_because: str | None


# Key of a lease, and the specification of its sandbox if one is created
LeaseAcquire = TypedDict("LeaseAcquire", {
    "internet": "NotRequired[bool]",
    "network": 'NotRequired[Literal["blocked", "internet"]]',
    "previewEnabled": "NotRequired[bool]",
    "persistent": "NotRequired[bool]",
    "template": "NotRequired[str]",
    "image": "NotRequired[str]",
    "pull": 'NotRequired[Literal["missing", "always", "never"]]',
    "snapshot": "NotRequired[str]",
    "config": "NotRequired[str]",
    "provider": "NotRequired[str]",
    "isolation": 'NotRequired[Literal["none", "namespaces", "gvisor", "microvm", "remote"]]',
    "region": "NotRequired[str]",
    "labels": "NotRequired[dict[str, str]]",
    "env": "NotRequired[dict[str, str]]",
    "resources": "NotRequired[ResourcesRequest]",
    "gpus": "NotRequired[int]",
    "previewPublic": "NotRequired[bool]",
    "egress": "NotRequired[SandboxEgress]",
    "volume": "NotRequired[str]",
    "volumes": "NotRequired[list[SandboxVolume]]",
    "persistentHome": "NotRequired[str]",
    "persistentDiskGb": "NotRequired[int]",
    "workspace": "NotRequired[str]",
    "workspaceRoot": "NotRequired[str]",
    "timeout_ms": "NotRequired[int]",
    "idle_reap_ms": "NotRequired[int]",
    "lifetime_max_ms": "NotRequired[int]",
    "autoPauseMs": "NotRequired[int]",
    "autoStopMs": "NotRequired[int]",
    "autoArchiveMs": "NotRequired[int]",
    "autoDeleteMs": "NotRequired[int]",
    "key": "str",
    "continue": "NotRequired[bool]",
    "wait_ms": "NotRequired[int]",
    "idempotency_key": "NotRequired[str]",
    "update": "NotRequired[bool]",
})


class LeaseAcquired(TypedDict):
    """A lease and its running sandbox"""

    key: str
    # the same as key
    username: str
    # null if the lease has no sandbox
    sandbox_id: str | None
    # ready, creating, or empty: the sandbox is gone, and the next acquire creates one
    status: str
    # the sandbox is paused or stopped; acquire starts it
    paused: bool
    # provider
    type: str | None
    # server that hosts the sandbox
    node: str | None
    # run that owns the sandbox's files
    run: str | None
    # increases with every change
    lock_version: int
    # active time of the lease's sandboxes; paused and stopped time is not counted
    total_usage_seconds: int
    last_activity_at: str | None
    created_at: str | None
    # the idle timeout is suspended until this time
    keep_until: str | None
    # whether this call created the sandbox
    created: bool
    # whether this call reset the sandbox's files
    reset: bool


class LeaseList(TypedDict):
    """One page of leases"""

    items: list[Lease]
    next_page: str | None


class Lease(TypedDict):
    """A lease and its sandbox"""

    key: str
    # the same as key
    username: str
    # null if the lease has no sandbox
    sandbox_id: str | None
    # ready, creating, or empty: the sandbox is gone, and the next acquire creates one
    status: str
    # the sandbox is paused or stopped; acquire starts it
    paused: bool
    # provider
    type: str | None
    # server that hosts the sandbox
    node: str | None
    # run that owns the sandbox's files
    run: str | None
    # increases with every change
    lock_version: int
    # active time of the lease's sandboxes; paused and stopped time is not counted
    total_usage_seconds: int
    last_activity_at: str | None
    created_at: str | None
    # the idle timeout is suspended until this time
    keep_until: str | None
    # specification of the lease's sandboxes, without the environment; null: the lease is older than specifications
    specification: Any


class LeasesDeleted(TypedDict):
    """Number of deleted leases"""

    deleted: int


class LeaseKeepAlive(TypedDict):
    """Duration of a keepalive"""

    # how long to suspend the idle timeout; 0: count as normal activity only
    timeoutMs: NotRequired[int]


class MemberList(TypedDict):
    """Members"""

    items: list[Member]


class Member(TypedDict):
    """A user with a role in the project"""

    user: str
    role: str
    created_at: str | None
    updated_at: str | None


class MemberAdd(TypedDict):
    """A member to add"""

    # id, compared exactly, or e-mail address, kept in lower case
    user: str
    # viewer, member or admin
    role: str


class MemberChange(TypedDict):
    """A member's new role"""

    # viewer, member or admin
    role: str


class Settings(TypedDict):
    """Settings in effect for the project"""

    # idle time after which an ephemeral sandbox is deleted; 0: the platform's setting
    idle_reap_seconds: int
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the platform's setting
    lifetime_max_seconds: int
    # idle time after which a sandbox is paused; 0: the platform's setting; -1: never
    idle_pause_seconds: int
    # idle time after which a sandbox is stopped; 0: the platform's setting; -1: never
    idle_stop_seconds: int
    # time without input and output after which a terminal closes; 0: the platform's setting
    terminal_ttl_seconds: int
    # MiB of stored artifacts; 0: the platform's setting
    artifacts_max_mb: int
    # lifetime of an artifact; 0: the platform's setting
    artifacts_keep_seconds: int
    # record the output of every new terminal window
    record_terminals: bool
    # the least isolation of new sandboxes, unless their request or template names another; the project's member isolation
    default_isolation: str
    # where volumes and backups are stored: local
    default_storage_provider: str
    # values that default_isolation may have
    isolation_choices: list[str]
    # values that default_storage_provider may have
    storage_choices: list[str]


class SettingsPut(TypedDict):
    """Given members replace the stored ones"""

    # idle time after which an ephemeral sandbox is deleted; 0: the platform's setting
    idle_reap_seconds: NotRequired[int]
    # an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the platform's setting
    lifetime_max_seconds: NotRequired[int]
    # idle time after which a sandbox is paused; 0: the platform's setting; -1: never
    idle_pause_seconds: NotRequired[int]
    # idle time after which a sandbox is stopped; 0: the platform's setting; -1: never
    idle_stop_seconds: NotRequired[int]
    # time without input and output after which a terminal closes; 0: the platform's setting
    terminal_ttl_seconds: NotRequired[int]
    # MiB of stored artifacts; 0: the platform's setting
    artifacts_max_mb: NotRequired[int]
    # lifetime of an artifact; 0: the platform's setting
    artifacts_keep_seconds: NotRequired[int]
    # record the output of every new terminal window
    record_terminals: NotRequired[bool]
    # the least isolation of new sandboxes, unless their request or template names another; the project's member isolation
    default_isolation: NotRequired[str]
    # where volumes and backups are stored: local
    default_storage_provider: NotRequired[str]


class ResourceConfig(TypedDict):
    """Default and maximum limits of the project's sandboxes"""

    # limits that the project sets
    defaults: Limits
    # limits that no sandbox of the project exceeds; 0: only the caps apply
    maximums: Limits
    # limits that apply where the project sets none
    platform: Limits
    # upper bounds of the platform
    caps: Limits
    # limits of a sandbox that requests none
    effective: Limits


class ResourceConfigPut(TypedDict):
    """The project's default limits; omitted members are unset"""

    # only a platform admin can set them; unchanged if omitted
    maximums: NotRequired[Limits]
    # vCPUs; 0 = not set
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    pids: NotRequired[int]


class SandboxConfigList(TypedDict):
    """Reusable configs"""

    items: list[SandboxConfigRecord]


class SandboxConfigRecord(TypedDict):
    """A reusable config"""

    id: str
    name: str
    config: SandboxConfig
    created_at: str | None
    updated_at: str | None


class SandboxConfig(TypedDict):
    """Settings for sandboxes"""

    # false: no network
    internet: NotRequired[bool]
    # environment of every command; replies show ******** instead of each value; sending that back keeps the stored value
    envVars: NotRequired[dict[str, str]]
    # a provider of the server, see GET /v1/providers, or a kind that it lacks yet, such as lambda (default: the first that can)
    provider: NotRequired[str]
    # the least isolation that is accepted
    isolation: NotRequired[Literal["none", "namespaces", "gvisor", "microvm", "remote"]]
    # name or id (default: the server's default template)
    template: NotRequired[str]
    # edit, ask or bypass; applies to tools that use this config
    permissionMode: NotRequired[str]
    # bash, python, node, r or java: runtimes for tools and commands; advisory
    runtimes: NotRequired[list[str]]
    # time limit in seconds for a command, a block of code, a job or a tool; at most 300 on lambda and 600 elsewhere
    timeout: NotRequired[int]
    # MB, at most 1024 on lambda; also the upper limit for requests
    memoryLimit: NotRequired[int]
    # size limit of a tool's output and of each stream of a command
    outputLimitBytes: NotRequired[int]
    # keep the sandbox between calls; not on lambda
    persistent: NotRequired[bool]
    resources: NotRequired[SandboxConfigResources]
    lifecycle: NotRequired[SandboxConfigLifecycle]
    options: NotRequired[SandboxConfigOptions]


class SandboxConfigResources(TypedDict):
    """Limits besides memoryLimit; 0: inherited"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    diskMb: NotRequired[int]
    pids: NotRequired[int]


class SandboxConfigLifecycle(TypedDict):
    """When the sandbox ends by itself"""

    # idle time after which a persistent sandbox is stopped and any other sandbox is deleted
    idleTimeoutSeconds: NotRequired[int]
    # age at which the sandbox ends
    maxLifetimeSeconds: NotRequired[int]


class SandboxConfigOptions(TypedDict):
    """Options of persistent sandboxes; not every provider supports them"""

    mountAwsS3Buckets: NotRequired[bool]
    # parent folder of workspaces (default /mnt/workspaces)
    workspaceRoot: NotRequired[str]
    # size limit of the home volume in GiB when it is created (default: no limit)
    persistentDiskGb: NotRequired[int]
    # mount point of a volume that outlives the sandbox, for packages and caches; /home/user if only persistentDiskGb is given
    persistentHome: NotRequired[str]


class SandboxConfigCreate(TypedDict):
    """A config to store"""

    name: str
    config: NotRequired[SandboxConfig]


class SandboxConfigChange(TypedDict):
    """Given members replace the stored ones; config is replaced as a whole"""

    name: NotRequired[str]
    config: NotRequired[SandboxConfig]


class Me(TypedDict):
    """The caller"""

    # project that the key acts in
    project: str
    project_name: str
    # id of the key; null: a session of a user
    key: str | None
    key_name: str | None
    # current scopes of the key or session
    scopes: list[str]
    # the session's user, or the member that owns the key
    user: str | None
    # current role of the member; null: none, or an admin of the server
    role: str | None
    expires_at: str | None


class SignInWays(TypedDict):
    """How to sign in"""

    # a user may sign in by password
    password: bool
    oidc: SignInProvider | None
    # no user exists; a one-time link makes the first
    setup: bool
    # of the server
    version: str
    # address of the console
    console: str


class SignInProvider(TypedDict):
    """A provider of OpenID Connect"""

    # what to call the provider
    name: str
    # page to open
    path: str


class SetupLink(TypedDict):
    """The link that makes the first user"""

    # works once; returned only here
    link: str
    expires_at: str | None


class SignInOffer(TypedDict):
    """Something to sign in with"""

    email: NotRequired[str]
    # of the user
    password: NotRequired[str]
    # an API key, instead of a user: the session may do what the key may
    key: NotRequired[str]
    # of the one-time link, with email, name and password
    setup_token: NotRequired[str]
    # of an invitation's link, with name and password
    invitation: NotRequired[str]
    # of a new user, for people
    name: NotRequired[str]


class LoginSession(TypedDict):
    """A session of a browser"""

    id: str
    # user or key
    kind: str
    # null: the session is a key's
    user: LoginUser | None
    # for the header X-Atoll-CSRF, which every write needs
    csrf_token: str
    created_at: str | None
    # earlier without use
    expires_at: str | None
    # project of requests that name none; null: a member of none
    project: str | None
    projects: list[LoginProject]
    # in that project
    scopes: list[str]


class LoginUser(TypedDict):
    """The user of a session"""

    id: str
    email: str
    name: str
    # an admin of the whole server
    is_admin: bool


class LoginProject(TypedDict):
    """A project that a session may choose"""

    id: str
    name: str
    # null: the scopes are those of an admin of the server or of a key
    role: str | None
    scopes: list[str]


class LoginSessionList(TypedDict):
    """Sessions"""

    items: list[LoginSessionSummary]


class LoginSessionSummary(TypedDict):
    """One of the caller's sessions"""

    id: str
    created_at: str | None
    last_used_at: str | None
    # from which it was begun
    address: str
    # what the browser says of itself
    user_agent: str
    # it is the session of this request
    is_current: bool
    expires_at: str | None


class OrganizationList(TypedDict):
    """Organisations"""

    items: list[Organization]


class Organization(TypedDict):
    """Owns projects"""

    id: str
    name: str
    # null: it came with the server
    created_at: str | None


class OrganizationCreate(TypedDict):
    """An organisation to make"""

    name: str
    # address of the user that becomes the first owner
    owner: str


class OrganizationChange(TypedDict):
    """A new name"""

    name: str


class OrganizationMemberList(TypedDict):
    """Members"""

    items: list[OrganizationMember]


class OrganizationMember(TypedDict):
    """A user with a role in the organisation"""

    user: str
    # owner and admin administer every project of the organisation; an owner manages owners and admins
    role: Literal["member", "admin", "owner"]
    created_at: str | None


class OrganizationMemberPut(TypedDict):
    """A member to add, or whose role to change"""

    user: str
    # owner and admin administer every project of the organisation; an owner manages owners and admins
    role: Literal["member", "admin", "owner"]


class UserList(TypedDict):
    """Users"""

    items: list[User]
    next_page: str | None


class User(TypedDict):
    """A user"""

    id: str
    email: str
    name: str
    # an admin of the whole server
    is_admin: bool
    is_disabled: bool
    has_password: bool
    # the provider of OpenID Connect by which the user signed in last
    issuer: str | None
    created_at: str | None
    # when the user signed in last
    last_used_at: str | None


class UserCreate(TypedDict):
    """A user to make"""

    # kept in lower case; never changes
    email: str
    # for people
    name: NotRequired[str]
    # default: the answer has a link with which the user sets it
    password: NotRequired[str]
    # an admin of the whole server
    is_admin: NotRequired[bool]


class UserMade(TypedDict):
    """A user, with a link"""

    id: str
    email: str
    name: str
    # an admin of the whole server
    is_admin: bool
    is_disabled: bool
    has_password: bool
    # the provider of OpenID Connect by which the user signed in last
    issuer: str | None
    created_at: str | None
    # when the user signed in last
    last_used_at: str | None
    # with which the user sets a password, once; returned only here; null: the request had a password
    link: str | None
    link_expires_at: str | None


class UserChange(TypedDict):
    """What to change of a user"""

    name: NotRequired[str]
    is_admin: NotRequired[bool]
    # may not sign in; its sessions end, and its keys may do nothing
    is_disabled: NotRequired[bool]


class PasswordChange(TypedDict):
    """A new password"""

    # required, but for an admin who sets another user's
    old: NotRequired[str]
    # at least 4 different characters, not the e-mail address
    new: str


class InvitationList(TypedDict):
    """Invitations"""

    items: list[Invitation]


class Invitation(TypedDict):
    """An invitation"""

    id: str
    email: str
    role: str
    # a user or a key
    invited_by: str
    created_at: str | None
    expires_at: str | None


class InvitationCreate(TypedDict):
    """Whom to invite"""

    email: str
    # viewer, member or admin
    role: str


class InvitationMade(TypedDict):
    """An invitation, with its link"""

    id: str
    email: str
    role: str
    # a user or a key
    invited_by: str
    created_at: str | None
    expires_at: str | None
    # works once; returned only here
    link: str


class EphemeralExec(TypedDict):
    """A command, and the sandbox that is made for it"""

    # a shell line (bash, else sh)
    command: NotRequired[str]
    # a program, run without a shell
    cmd: NotRequired[str]
    # arguments of cmd
    args: NotRequired[list[str]]
    # working directory; a relative path is below the default folder
    cwd: NotRequired[str]
    # environment variables; they override the sandbox's variables
    env: NotRequired[dict[str, str]]
    # name or number of the user (default: the template's user)
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # time limit; the command and all its processes are killed afterwards; 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that a collected result keeps of each stream
    outputLimitBytes: NotRequired[int]
    # run as a background job; the reply comes at once and has a resultId to query the job by
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]
    # kill the command when this connection breaks; by default the command continues
    end_on_disconnect: NotRequired[bool]
    # run on a terminal; all output is stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings
    record: NotRequired[bool]
    # label shown in lists
    label: NotRequired[str]
    # a config of /accounts/me/sandboxes
    config: NotRequired[str]
    # name of the workspace whose files the call has, at /mnt/workspaces/NAME
    workspace: NotRequired[str]
    # settings of the sandbox that is made
    sandbox: NotRequired[SandboxSpecification]


class EphemeralCode(TypedDict):
    """A block of code, and the sandbox that is made for it"""

    language: Literal["python", "javascript", "typescript", "bash", "r", "java"]
    # at most 128 KiB
    code: str
    # context that runs the code and keeps its state; 'default': the default context of the language, created if missing
    contextId: NotRequired[str]
    # working directory; a relative path is below the default folder
    cwd: NotRequired[str]
    # environment variables; they override the sandbox's variables
    env: NotRequired[dict[str, str]]
    # name or number of the user (default: the template's user)
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # time limit; the command and all its processes are killed afterwards; 0: the server's default
    timeout_ms: NotRequired[int]
    # bytes that a collected result keeps of each stream
    outputLimitBytes: NotRequired[int]
    # run as a background job; the reply comes at once and has a resultId to query the job by
    background: NotRequired[bool]
    # conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation
    conversation: NotRequired[str]
    # where the end of the job is reported
    origin: NotRequired[JobOrigin]
    # kill the command when this connection breaks; by default the command continues
    end_on_disconnect: NotRequired[bool]
    # run on a terminal; all output is stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder; its files that the command creates or changes are kept as artifacts and reported before the exit event
    artifacts: NotRequired[str]
    # record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings
    record: NotRequired[bool]
    # label shown in lists
    label: NotRequired[str]
    # a config of /accounts/me/sandboxes
    config: NotRequired[str]
    # name of the workspace whose files the call has, at /mnt/workspaces/NAME
    workspace: NotRequired[str]
    # settings of the sandbox that is made
    sandbox: NotRequired[SandboxSpecification]


class EventList(TypedDict):
    """Events, oldest first"""

    items: list[Event]
    # value of after for the next page or for a stream
    after: int
    # sequence of the oldest stored event; 0: there are no events
    oldest: int


class Event(TypedDict):
    """Something that happened"""

    # grows over all of the server's events; for after=
    sequence: int
    at: str | None
    kind: str
    project: str | None
    # its id
    sandbox: str | None
    # why it ends: user, idle, lifetime, oom, exit, host_lost, error, budget, disk; of command.limited the cause: timeout, oom, file_size, disk, process_limit
    reason: str | None
    # for people: started in 4 ms
    text: str
    # of a job: resultId, status, exitCode, cause, conversation, stdout
    detail: NotRequired[Any]
    # with=object, sandbox.* events: the sandbox as the list answers it, read after the event; null: its row is gone
    object: NotRequired[Any]


class LostMessage(TypedDict):
    """Events between were deleted before they were read"""

    # kind of the message; with SSE also its event name
    event: Literal["lost"]
    # the sequence that the request named
    after: int
    # sequence of the oldest event that is kept
    oldest: int


class ActivityList(TypedDict):
    """Calls into sandboxes, in the order of their ends"""

    items: list[Activity]
    # value of after for the next page or for a stream
    after: int
    # sequence of the oldest stored row; 0: there are no rows
    oldest: int


class Activity(TypedDict):
    """A call into a sandbox"""

    # grows over all of the server's rows; for after=
    sequence: int
    # when the call began
    at: str | None
    project: str
    # its id; null for a tool without a sandbox
    sandbox: str | None
    # command, code, tool or file
    kind: str
    # exec, job or git; the language of code; the name of a tool; read, write, mkdir, remove, rename, copy, permissions, tar_in or tar_out
    operation: str
    # the command line, code, input or paths; the first 1 KiB
    arguments: str
    # the member whose key made the call
    user: str | None
    key: str | None
    # of the header Atoll-Conversation or the tool call
    conversation: str | None
    # outcome is ok
    ok: bool
    # ok, failed, or unknown: the server did not see the end
    outcome: str
    # -1: none, or unknown
    exit_code: int
    # why it failed, besides an exit code
    error: str | None
    duration_ms: int
    # of both output streams; of files: bytes transferred
    output_bytes: int
    # the first KiB of the output
    head: str
    # the last KiB of the output; empty when head is all of it
    tail: str
    # base64 when the bytes of head and tail are no text
    encoding: str | None
    artifacts: list[ActivityArtifact]


class ActivityArtifact(TypedDict):
    """A file that the call left and that is stored"""

    id: str
    path: str


class NetworkDecisionList(TypedDict):
    """Network decisions, oldest first"""

    items: list[NetworkDecision]
    # value of after for the next page
    after: int
    # sequence of the oldest stored row; 0: there are no rows
    oldest: int


class NetworkDecision(TypedDict):
    """A connection that network rules decided on"""

    # grows over all of the server's rows; for after=
    sequence: int
    at: str | None
    # its id
    sandbox: str
    # denied, allowed, or watched: refused by the rules, but let through by the mode watch
    decision: str
    # why: ok, host-not-allowed, address-denied, range-refused, bad-request, limit or upstream-unreachable
    code: str
    # the entry of the rules that decided
    rule: str | None
    # name of the credential that the request got, or was refused for
    credential: str | None
    # tls, http, dns, tcp, udp or other
    protocol: str
    # null: only the address is known
    host: str | None
    # null: a name that was refused before it was looked up
    address: str | None
    # 0: none
    port: int
    # equal decisions of about a second; a busy sandbox has rows without host and address for what is too much
    count: int
    # received by the sandbox; known of connections by name, at their end
    bytes_in: int
    # sent by the sandbox
    bytes_out: int


class AuditList(TypedDict):
    """Rows of the audit"""

    items: list[AuditRow]
    # value of before (or after) for the next page; 0: no page follows
    next: int
    # rows up to this number were dropped by the retention
    oldest: int


class AuditRow(TypedDict):
    """An event of the audit"""

    # number in the chain, without gaps
    sequence: int
    at: str | None
    id: str
    # node that served the request
    server: str
    # of that server
    version: str
    project: str
    user: str
    # id of the key, or of the user of a session
    key: str
    # key, session, link, token (of a sandbox or volume), sandbox (that uses a credential), public or system
    via: str
    address: str
    user_agent: str
    action: str
    method: str
    path: str
    target_kind: str
    target: str
    conversation: str
    # ok, refused, failed or interrupted
    result: str
    # of HTTP; 0: none
    status: int
    request_id: str
    # changed members of rows before; secrets are masked
    before: Any
    after: Any
    hash: str


class AuditKey(TypedDict):
    """The key that signs the audit, and the newest checkpoint"""

    # id of the chain
    chain: str
    # public key, Ed25519, hexadecimal
    key: str
    # of the newest row
    sequence: int
    # rows up to this number were dropped by the retention
    oldest: int
    # row of the newest checkpoint; 0: none
    checkpoint: int
    checkpoint_at: str | None
    # of that row
    hash: str
    signature: str


class WebhookCreate(TypedDict):
    """A webhook to create"""

    # http or https URL on the internet
    url: str
    # kinds such as sandbox.started, or sandbox.* (default: all)
    events: NotRequired[list[str]]
    # key for signatures (default: generated)
    secret: NotRequired[str]
    # default true
    enabled: NotRequired[bool]


class WebhookMade(TypedDict):
    """A new webhook, with its secret"""

    id: str
    url: str
    events: list[str]
    enabled: bool
    # why the server disabled the webhook
    problem: str | None
    # number of waiting deliveries
    waiting: int
    # number of dead deliveries
    dead: int
    created_at: str | None
    updated_at: str | None
    # returned only once
    secret: str


class WebhookList(TypedDict):
    """Webhooks, oldest first"""

    items: list[Webhook]


class Webhook(TypedDict):
    """A webhook, without its secret"""

    id: str
    url: str
    events: list[str]
    enabled: bool
    # why the server disabled the webhook
    problem: str | None
    # number of waiting deliveries
    waiting: int
    # number of dead deliveries
    dead: int
    created_at: str | None
    updated_at: str | None


class WebhookChange(TypedDict):
    """Given members replace the stored ones; a webhook that is enabled again receives only new events"""

    # http or https URL on the internet
    url: NotRequired[str]
    # kinds such as sandbox.started, or sandbox.* (default: all)
    events: NotRequired[list[str]]
    # key for signatures (default: generated)
    secret: NotRequired[str]
    # default true
    enabled: NotRequired[bool]


class WebhookTest(TypedDict):
    """The result of a test event"""

    # the status is 2xx
    ok: bool
    # 0: no answer came
    status: int
    duration_ms: int
    error: str | None


class DeliveryList(TypedDict):
    """Deliveries, newest first"""

    items: list[Delivery]


class Delivery(TypedDict):
    """Delivery of an event to a webhook"""

    # value of the header Atoll-Delivery
    id: str
    # sequence of the event
    sequence: int
    kind: str
    # waiting, delivered or dead
    state: str
    attempts: int
    # HTTP status of the last reply; 0: no reply came
    status: int
    error: str | None
    created_at: str | None
    next_at: str | None
    ended_at: str | None
    # body of the request
    event: Any


class DeliveriesRetried(TypedDict):
    """The result of a retry of all dead deliveries"""

    # number of retried deliveries
    retried: int
    # number of dead deliveries that are left
    dead: int


class CredentialCreate(TypedDict):
    """A credential to store"""

    # what it is for; people and agents see it
    about: NotRequired[str]
    # host names that may get it; "*.example.com" is every name below; default: those of the preset
    hosts: NotRequired[list[str]]
    # its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any
    fields: dict[str, str]
    # what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked
    consent: NotRequired[Literal["conversation", "sandbox", "project"]]
    # default: never
    expires_at: NotRequired[str | None]
    # for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default)
    environment: NotRequired[dict[str, str]]
    # lower-case letters, digits and '-'; rules name it: ${credential.NAME.FIELD}
    name: str
    # which fields it has (default: the preset's, or token)
    kind: NotRequired[Literal["token", "basic", "aws", "custom", "client"]]
    # a service of /v1/credential-presets: kind and hosts, and rules for sandboxes (egress.credentials)
    preset: NotRequired[str]
    # project (default; takes the scope project:write), or the caller's user, who alone sees it
    owner: NotRequired[Literal["project", "user"]]


class Credential(TypedDict):
    """A credential, without its values"""

    id: str
    name: str
    kind: Literal["token", "basic", "aws", "custom", "client", "oauth"]
    preset: str | None
    about: str
    hosts: list[str]
    # the fields that are set
    field_names: list[str]
    # variables of terminal windows, and the field of each
    environment: dict[str, str]
    owner: Literal["project", "user"]
    consent: Literal["conversation", "sandbox", "project"]
    # needs_login: its tokens cannot be renewed
    state: Literal["ok", "expired", "needs_login"]
    # grows when the values change
    version: int
    # equal values have equal fingerprints; a value cannot be guessed from it
    fingerprint: str
    expires_at: str | None
    last_used_at: str | None
    created_at: str | None
    updated_at: str | None


class CredentialList(TypedDict):
    """Credentials by name"""

    items: list[Credential]


class CredentialChange(TypedDict):
    """Given members replace the stored ones; a further host and a weaker consent take the fields again"""

    # what it is for; people and agents see it
    about: NotRequired[str]
    # host names that may get it; "*.example.com" is every name below; default: those of the preset
    hosts: NotRequired[list[str]]
    # its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any
    fields: NotRequired[dict[str, str]]
    # what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked
    consent: NotRequired[Literal["conversation", "sandbox", "project"]]
    # default: never
    expires_at: NotRequired[str | None]
    # for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default)
    environment: NotRequired[dict[str, str]]


class ConnectCreate(TypedDict):
    """A login to begin"""

    # of the credential to make
    name: str
    # see /v1/credential-presets; or give an issuer
    preset: NotRequired[str]
    # a service that publishes its metadata, such as a GitLab of your own; its addresses replace those of the preset
    issuer: NotRequired[str]
    # a credential of the kind 'client': the application that is registered at the service
    client: str
    # code: in a browser (default); device: with a code to type; client: the application itself
    method: NotRequired[Literal["code", "device", "client"]]
    # default: those of the preset
    scopes: NotRequired[list[str]]
    # hosts that may get the credential (default: the preset's)
    hosts: NotRequired[list[str]]
    # what it is for
    about: NotRequired[str]
    # as of a credential
    consent: NotRequired[Literal["conversation", "sandbox", "project"]]
    # as of a credential
    owner: NotRequired[Literal["project", "user"]]


class Connect(TypedDict):
    """A login at an OAuth service"""

    id: str
    name: str
    preset: str | None
    method: Literal["code", "device", "client"]
    owner: Literal["project", "user"]
    # pending, exchanging, done, failed or needs_login
    state: str
    problem: str | None
    # as the service grants them
    scopes: str
    # once: the service's page to open in a browser
    url: NotRequired[str]
    # once: the code to type at verification_uri
    user_code: NotRequired[str]
    verification_uri: NotRequired[str]
    verification_uri_complete: NotRequired[str]
    # how often the server asks for a device's tokens
    interval_ms: NotRequired[int]
    # of a pending one
    expires_at: str | None
    # when its tokens are renewed
    renews_at: str | None
    created_at: str | None
    updated_at: str | None


class ConnectList(TypedDict):
    """Connects, newest first"""

    items: list[Connect]


class CredentialPresetList(TypedDict):
    """Presets of credentials"""

    items: list[CredentialPreset]


class CredentialPreset(TypedDict):
    """A service whose hosts and OAuth server are known"""

    name: str
    version: int
    about: str
    # of the credential
    kind: str
    hosts: list[str]
    fields: list[CredentialPresetField]
    markers: NotRequired[list[CredentialPresetMarker]]
    # a credential of this preset is named "it" here
    rules: list[CredentialRule]
    oauth: NotRequired[OAuthService]


class CredentialPresetField(TypedDict):
    """A field to ask for"""

    name: str
    label: str
    # false: it may be shown
    secret: bool


class CredentialPresetMarker(TypedDict):
    """A variable without worth that lets programs inside start"""

    env: str
    value: str


class OAuthService(TypedDict):
    """The addresses of an OAuth service, and how it differs from the standards"""

    issuer: NotRequired[str]
    authorize: NotRequired[str]
    token: NotRequired[str]
    device: NotRequired[str]
    revoke: NotRequired[str]
    # parameters that its page wants beside those of the standard
    extra: NotRequired[str]
    scope_separator: NotRequired[str]
    client_auth: Literal["basic", "post"]
    body: Literal["form", "json"]
    revoke_style: Literal["standard", "github", "bearer"]
    pkce: Literal["on", "off"]
    scopes: list[str]


class JobList(TypedDict):
    """Background jobs, newest first"""

    items: list[JobItem]


class JobItem(TypedDict):
    """A background job, without its logs"""

    resultId: str
    # running, completed, failed or stopped
    status: str
    # -1 while the job runs, and if the exit code is unknown
    exitCode: int
    # why the job did not complete
    reason: str | None
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); lost: the job's process disappeared; null while the job runs
    cause: str | None
    sandbox_id: str
    command: str
    conversation: str | None
    origin: Any
    # number of the process in the sandbox
    process: int
    # bytes written in total; set when the job has ended
    stdout_bytes: int
    stderr_bytes: int
    created_at: str | None
    ended_at: str | None
    duration_ms: int


class Job(TypedDict):
    """A background job"""

    resultId: str
    # running, completed, failed or stopped
    status: str
    # -1 while the job runs, and if the exit code is unknown
    exitCode: int
    # why the job did not complete
    reason: str | None
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); lost: the job's process disappeared; null while the job runs
    cause: str | None
    sandbox_id: str
    command: str
    conversation: str | None
    origin: Any
    # number of the process in the sandbox
    process: int
    # bytes written in total; set when the job has ended
    stdout_bytes: int
    stderr_bytes: int
    created_at: str | None
    ended_at: str | None
    duration_ms: int
    # last part of stdout and stderr; present when the job has ended
    logs: NotRequired[Any]
    # artifacts that the job left; present when the job has ended
    artifacts: NotRequired[list[StoredArtifact]]


class JobLogs(TypedDict):
    """Output of a background job"""

    resultId: str
    status: str
    stdout: str
    stderr: str
    # offset of the first returned byte
    stdout_offset: int
    stderr_offset: int
    # value of since_stdout for the next call
    stdout_next: int
    stderr_next: int
    # bytes written in total
    stdout_bytes: int
    stderr_bytes: int


class JobComplete(TypedDict):
    """The result of a background job"""

    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: NotRequired[Literal["exit", "signal", "timeout", "oom", "file_size", "disk", "process_limit", "canceled", "sandbox_ended"]]
    status: Literal["completed", "failed"]
    exitCode: NotRequired[int]
    signal: NotRequired[int]
    durationMs: NotRequired[int]
    timedOut: NotRequired[bool]
    # last part of the output as text; or as bytes:
    output: NotRequired[str]
    stdoutBase64: NotRequired[str]
    stderrBase64: NotRequired[str]


class ChannelList(TypedDict):
    """Channels, sorted by name"""

    items: list[Channel]


class Channel(TypedDict):
    """A channel, without its token"""

    name: str
    type: str
    base_url: str | None
    created_at: str | None
    updated_at: str | None


class ChannelPut(TypedDict):
    """Token of a chat service"""

    type: Literal["slack", "discord", "telegram", "github", "zalo", "pancake"]
    # token of a bot, an app, an official account or a page
    token: str
    # address of a self-hosted service (default: the public service)
    base_url: NotRequired[str]


class JobDeliveryList(TypedDict):
    """Messages, newest job first"""

    items: list[JobDelivery]


class JobDelivery(TypedDict):
    """A message about the end of a job"""

    resultId: str
    channel: str
    # waiting, sending, delivered or dead
    state: str
    attempts: int
    # HTTP status of the last reply; 0: no reply came
    status: int
    error: str | None
    # when the job ended
    ended_at: str | None
    next_at: str | None


# One page of usage
Usage = TypedDict("Usage", {
    "from": "str | None",
    "to": "str | None",
    "group_by": "str",
    "items": "list[UsageSum]",
    "next_page": "str | None",
})


class UsageSum(TypedDict):
    """Usage of one group"""

    # id, template, user, run, conversation, reason, day or value of the label
    group: str
    # name of the project, key or sandbox, also of a deleted one while lists can show it; null: not known
    name: str | None
    # time that sandboxes were started
    seconds: float
    # processor time, as sampled
    cpu_seconds: float
    # vCPUs of the sandboxes multiplied by their time
    vcpu_seconds: float
    # memory limits of the sandboxes multiplied by their time
    memory_gib_seconds: float
    # stored files; a month has 730 hours
    storage_gib_months: float
    # US dollars
    usd: float
    # exact amount in micro-dollars
    usd_micro: int


class Balance(TypedDict):
    """The balance of a project"""

    project: str
    deposited_usd: float
    spent_usd: float
    # negative if more was spent than deposited
    balance_usd: float
    # exact amount in micro-dollars
    balance_usd_micro: int


class DepositCreate(TypedDict):
    """A deposit to book"""

    # id chosen by the caller; a repeated id is booked once
    id: str
    # US dollars
    usd: float
    note: NotRequired[str]


class Deposit(TypedDict):
    """A deposit"""

    id: str
    project: str
    usd: float
    note: str
    created_at: str | None


class BudgetList(TypedDict):
    """Budgets, oldest first"""

    items: list[Budget]


class Budget(TypedDict):
    """A spending limit and the amount spent"""

    id: str
    scope: Literal["project", "key", "sandbox", "run", "label", "conversation"]
    # id of the project, key or sandbox; or the run, NAME=VALUE of the label, or the conversation
    subject: str
    window: Literal["total", "day", "month"]
    limit_usd: float
    warn_at: float
    # spent in the current period
    spent_usd: float
    # fine, warned or exceeded
    level: str
    # start of the current period
    since: str | None
    created_at: str | None


class BudgetCreate(TypedDict):
    """A spending limit"""

    # what the budget covers (default project)
    scope: NotRequired[Literal["project", "key", "sandbox", "run", "label", "conversation"]]
    # period in UTC; total never restarts (default month)
    window: NotRequired[Literal["total", "day", "month"]]
    # fraction of the limit at which a warning is sent (default 0.8)
    warn_at: NotRequired[float]
    # id of the key, name or id of the sandbox, run of the header Atoll-Run, NAME=VALUE of a label, or conversation of the header Atoll-Conversation or of tool calls
    subject: NotRequired[str]
    # US dollars
    limit_usd: float


class BudgetUpdate(TypedDict):
    """Changes of a budget"""

    # US dollars
    limit_usd: NotRequired[float]
    # fraction of the limit at which a warning is sent
    warn_at: NotRequired[float]


class PoolList(TypedDict):
    """Pools"""

    items: list[Pool]


class Pool(TypedDict):
    """A pool of prepared sandboxes"""

    # ready, filling (fewer than min are prepared) or failing
    state: str
    # set if the pool is failing
    problem: NotRequired[PoolProblem]
    template: str
    # null: an automatic pool, identified by the template's folder
    template_id: str | None
    # the pool follows the demand
    automatic: bool
    # number of sandboxes kept while the pool is unused
    min: int
    # number of sandboxes kept while the pool is used
    target: int
    # upper limit when misses let the pool grow
    max: int
    # number of prepared sandboxes
    ready: int
    preparing: int
    # creates that got a prepared sandbox since the broker started
    hits: int
    # creates that found no prepared sandbox
    misses: int
    # hits / (hits + misses) since the broker started; 0 before the first create
    hit_ratio: float
    # number of snapshot layers of the pool's sandboxes; 0: none
    depth: int
    internet: bool
    cpu: float
    memory_mb: int
    disk_mb: int
    pids: int


class PoolProblem(TypedDict):
    """Why a pool cannot be filled"""

    code: str
    message: str
    # how to fix it
    hint: str


class VolumeList(TypedDict):
    """Volumes, sorted by name"""

    items: list[ListedVolume]


class ListedVolume(TypedDict):
    """A volume and its used space at the last measurement"""

    id: str
    name: str
    project: str
    provider: str
    # server that stores the volume
    node: str
    # making, ready or deleting
    state: str
    # workspace whose files it keeps; absent: none
    workspace: NotRequired[str]
    # MiB
    size_mb: int
    # the size limit is not enforced
    size_advisory: bool
    created_at: str | None
    updated_at: str | None
    # sandboxes that have the volume, including stopped ones
    attachments: list[VolumeMount]
    # as last measured; -1: not measured yet
    used_bytes: int


class VolumeMount(TypedDict):
    """A volume mounted in a sandbox"""

    # name
    volume: str
    volume_id: str
    # name
    sandbox: str
    sandbox_id: str
    sandbox_state: str
    # mount point in the sandbox
    path: str
    # mounted folder of the volume; absent if the whole volume is mounted
    subpath: NotRequired[str]
    read_only: bool
    attached_at: str | None


class VolumeCreate(TypedDict):
    """A volume to create"""

    # unique in the project
    name: str
    # size limit in MiB (default: no limit)
    size_mb: NotRequired[int]


class Volume(TypedDict):
    """Storage that outlives sandboxes"""

    id: str
    name: str
    project: str
    provider: str
    # server that stores the volume
    node: str
    # making, ready or deleting
    state: str
    # workspace whose files it keeps; absent: none
    workspace: NotRequired[str]
    # MiB
    size_mb: int
    # the size limit is not enforced
    size_advisory: bool
    created_at: str | None
    updated_at: str | None
    # sandboxes that have the volume, including stopped ones
    attachments: list[VolumeMount]


class VolumeUsage(TypedDict):
    """A volume and its used space"""

    id: str
    name: str
    project: str
    provider: str
    # server that stores the volume
    node: str
    # making, ready or deleting
    state: str
    # workspace whose files it keeps; absent: none
    workspace: NotRequired[str]
    # MiB
    size_mb: int
    # the size limit is not enforced
    size_advisory: bool
    created_at: str | None
    updated_at: str | None
    # sandboxes that have the volume, including stopped ones
    attachments: list[VolumeMount]
    # -1: too many files to measure
    used_bytes: int


class VolumeGrow(TypedDict):
    """New size of a volume"""

    # MiB; not less than the current size
    size_mb: int


class VolumeMountList(TypedDict):
    """List the volumes of a sandbox"""

    items: list[VolumeMount]


class VolumeAttach(TypedDict):
    """A volume to attach, and its mount point"""

    # name or id
    volume: str
    # absolute mount point (default /workspace)
    path: NotRequired[str]
    # mount read-only; any number of sandboxes may read a volume
    read_only: NotRequired[bool]
    # folder of the volume to mount, created if missing (default: the whole volume)
    subpath: NotRequired[str]


class ChangeList(TypedDict):
    """One page of changes sorted by path; a folder precedes its content"""

    items: list[Change]
    # id of the base snapshot, or "template"
    base: str
    next_page: str | None


class Change(TypedDict):
    """A path that differs from the base"""

    # path from the root, without a leading '/'
    path: str
    # base64 if the path is not UTF-8
    path_encoding: NotRequired[str]
    # added, deleted or modified; mode: only the mode or owner changed; type: the file became another type of file
    kind: str
    # file, dir, link, fifo, socket or device; null: the path does not exist
    type: str | None
    type_before: str | None
    # size of a file in bytes
    size: int
    size_before: int
    # octal
    mode: str | None
    mode_before: str | None
    uid: int
    gid: int
    uid_before: int
    gid_before: int
    # target of a symbolic link
    link: NotRequired[str]
    link_before: NotRequired[str]
    # the folder is too deep; its content is not listed
    truncated: NotRequired[bool]
    # diff only: a patch in git's format
    diff: NotRequired[str]
    lines_added: NotRequired[int]
    lines_deleted: NotRequired[int]
    # the file is not text, or is too large for a comparison by lines
    binary: NotRequired[bool]
    # base64 if the diff is not UTF-8
    diff_encoding: NotRequired[str]


class Revert(TypedDict):
    """Paths to revert"""

    # files, or folders with everything in them; "/" means everything
    paths: list[str]
    # base64: each path is base64-encoded
    encoding: NotRequired[Literal["text", "base64"]]
    # name or id of a snapshot, or "template" (the default)
    base: NotRequired[str]


class RevertResult(TypedDict):
    """Results in the order of the requested paths"""

    items: list[Reverted]


class Reverted(TypedDict):
    """Result for one path"""

    # the path as given in the request
    path: str
    # the path has the base's content again
    ok: bool
    # number of files and folders restored
    restored: int
    # number of files and folders deleted
    removed: int
    # error code
    error: NotRequired[str]
    message: NotRequired[str]
    hint: NotRequired[str]


class WindowList(TypedDict):
    """Windows, oldest first"""

    items: list[Window]


class Window(TypedDict):
    """A named terminal"""

    name: str
    # number of the process in this sandbox
    process: int
    # process id in the sandbox
    pid: int
    rows: int
    cols: int
    # a command runs in the foreground
    busy: bool
    # whether …/run works in this window
    shell: bool
    # number of attached connections
    viewers: int
    # idle time after which the window closes
    ttl_s: int
    # time since the last input or output
    quiet_ms: int
    # first offset that is still stored
    output_start: int
    # bytes written so far
    output_end: int
    started_at: str | None
    user: str
    # working directory at its start
    cwd: str


class WindowChange(TypedDict):
    """Changes of a window"""

    rows: NotRequired[int]
    cols: NotRequired[int]
    ttl_s: NotRequired[int]


class ViewerList(TypedDict):
    """Viewers, in the order of attachment"""

    items: list[Viewer]


class Viewer(TypedDict):
    """A viewer that is attached to a window by WebSocket"""

    # number of the viewer on this server
    viewer: int
    # user or key of the viewer
    who: str
    # network address of the viewer
    peer: str
    # false: read-only
    writes: bool
    attached_at: str | None
    # last input, accurate to two seconds; null: never
    typed_at: str | None


class Screen(TypedDict):
    """Content of a window's screen"""

    # why the wait ended: found, changed, quiet, timeout or ended; none if there was no condition
    reason: str
    # lines without trailing blanks, or escape sequences that draw the screen
    text: str | None
    # only for the form cells
    lines: list[ScreenLine]
    rows: int
    cols: int
    # from 0
    cursor_row: int
    # from 0
    cursor_column: int
    cursor_visible: bool
    # true: the alternate screen of a full-screen program
    alternate: bool
    title: str
    # the screen includes output up to this offset
    offset: int
    # bytes that are no longer stored at the beginning of the output; text that they drew may be missing
    missing: int


class ScreenLine(TypedDict):
    """A line of a screen"""

    runs: list[ScreenRun]


class ScreenRun(TypedDict):
    """Characters with the same attributes"""

    column: int
    text: str
    # #rrggbb
    foreground: str | None
    background: str | None
    bold: bool
    italic: bool
    underline: bool
    reverse: bool
    blink: bool
    strike: bool


class WindowKeys(TypedDict):
    """Input for a window, and conditions to wait for"""

    # text to type
    text: NotRequired[str]
    # text to paste; uses bracketed paste if the program has enabled it
    paste: NotRequired[str]
    # keys to press after text and paste: C-c, M-x, S-Tab, Up, Enter, Escape, F5, …; other strings are typed
    keys: NotRequired[list[str]]
    # wait until the screen shows this text; the first condition that holds ends the wait; after typing, only later output counts
    wait_text: NotRequired[str]
    # wait until a line matches this POSIX extended regular expression
    wait_regex: NotRequired[str]
    # wait until the screen changes
    wait_change: NotRequired[bool]
    # wait until there was no output for this time
    quiet_ms: NotRequired[int]
    # maximum wait (default 10000)
    wait_ms: NotRequired[int]
    # format of the screen
    form: NotRequired[Literal["text", "ansi", "cells"]]


class WindowRun(TypedDict):
    """A command for a window"""

    # command line; a command that runs in the window is cancelled first; without command, wait for the running one
    command: NotRequired[str]
    # answer 409 instead of cancelling a running command
    keep: NotRequired[bool]
    # maximum wait; afterwards the command continues (default 30000)
    wait_ms: NotRequired[int]
    # bytes kept from the end of the output (default 65536)
    outputLimitBytes: NotRequired[int]
    # working directory, if the window is created
    cwd: NotRequired[str]
    # user, if the window is created
    user: NotRequired[str]
    # environment, if the window is created
    env: NotRequired[dict[str, str]]


class WindowResult(TypedDict):
    """Result of a command in a window"""

    window: str
    process: int
    # the command still runs
    running: bool
    # -1 while the command runs
    exit_code: int
    # output without escape sequences
    output: str
    # offset of the output in the output of the process
    since: int
    end: int
    # bytes dropped before `output`
    dropped: int
    # a command that ran in the window was cancelled
    cancelled: bool
    # the window closed when the command ended
    closed: bool


class WorkspaceList(TypedDict):
    """Workspaces, sorted by name"""

    items: list[Workspace]


class Workspace(TypedDict):
    """Files that calls and sandboxes share by a name"""

    name: str
    # name of the volume of its files
    volume: str
    volume_id: str
    # server that stores the files
    node: str
    # ids of the sandboxes that have it now
    sandboxes: list[str]
    # as last measured; -1: not measured yet
    used_bytes: int
    created_at: str | None


class CodeContextList(TypedDict):
    """Contexts, oldest first"""

    items: list[CodeContext]


class CodeContext(TypedDict):
    """An interpreter that keeps its state from one block of code to the next"""

    id: str
    # python, javascript, typescript, bash, r, java
    language: str
    # working directory at its start
    cwd: str
    user: str
    # ready, or ended: its state is lost, and it can be restarted
    state: str
    # number of the process in this sandbox
    process: int
    # exit code of an ended context; otherwise -1
    exit_code: int
    # time of the creation or of the last restart
    created_at: str | None


class CodeContextCreate(TypedDict):
    """A new context"""

    # one of: python, javascript, typescript, bash, r, java; python by default
    language: NotRequired[str]
    # working directory; a relative path is below the default folder
    cwd: NotRequired[str]


class RecordingList(TypedDict):
    """Finished recordings, by sandbox and time"""

    items: list[Recording]


class Recording(TypedDict):
    """A recording of a window"""

    id: str
    # the sandbox may be deleted
    sandbox_id: str
    # number of the window's, command's or job's process; 0: not known
    process: int
    size_bytes: int
    started_at: str | None
    # name of the window
    window: str | None
    # user or key that had it recorded; null: not known
    user: str | None
    # time of the last output; -1: not known
    duration_ms: int


class FileLinkCreate(TypedDict):
    """A file to link to"""

    # absolute path, or path below the default folder
    path: str
    # user that reads the file (default: the template's user)
    user: NotRequired[str]
    # seconds (default 300)
    expires_in_s: NotRequired[int]


class FileLink(TypedDict):
    """A link by which the file can be downloaded without a key"""

    # path and query on this server
    path: str
    # the same with this server's address, if that is known
    url: str | None
    expires_at: str | None


class FileSearch(TypedDict):
    """Found names and lines"""

    # the searched folder
    path: str
    names: list[FileNameMatch]
    matches: list[FileMatch]
    # there is more than the limit, or the search ended early
    truncated: bool


class FileNameMatch(TypedDict):
    """A file whose name matches"""

    # relative to the searched folder
    path: str
    # file, directory, symlink or other
    type: str
    size: int
    modified_at: str | None


class FileMatch(TypedDict):
    """A line that matches"""

    # relative to the searched folder
    path: str
    line: int
    # at most 400 bytes of the line
    text: str


class ListeningPortList(TypedDict):
    """TCP ports that programs listen on, by number"""

    items: list[ListeningPort]
    # there are so many sockets that ports or processes are missing
    truncated: bool
    # changes with the ports; for changed_from
    version: str


class ListeningPort(TypedDict):
    """A port that a program listens on"""

    port: int
    # address that the socket is bound to; 0.0.0.0 and :: are all
    address: str
    # process id inside the sandbox of the first process that has the socket; 0: not found
    pid: int
    # number of the process in …/processes that started it; 0: none
    process: int
    # command line, at most 1023 bytes
    command: str
    # a preview may show the port and reaches its address
    preview: bool


class ServiceList(TypedDict):
    """Services, sorted by name"""

    items: list[Service]


class Service(TypedDict):
    """A command that the server keeps running"""

    name: str
    # starting, running, backoff (waits for its restart), stopping, stopped (on request), exited (by itself) or failed; down or paused if the sandbox is; unknown
    state: str
    # false: a client stopped the service
    wanted: bool
    # process id in the sandbox; 0: none
    pid: int
    # number of the process in the sandbox
    process: int
    # automatic restarts since the service was started or changed
    restarts: int
    # consecutive early exits
    failures: int
    # exit code of the last finished run; -1: no run has finished
    exit_code: int
    # signal that ended the last run, or 0
    signal: int
    # why the last start failed
    error: str | None
    # time until the next restart, while the state is backoff
    restart_in_ms: int
    # start of the last run
    started_at: str | None
    # end of the last finished run
    ended_at: str | None
    command: str | None
    # program and arguments, if the service has no shell line
    args: Any
    cwd: str
    user: str
    restart: str
    restart_limit: int
    restart_delay_ms: int
    stop_timeout_ms: int
    keep_awake: bool
    created_at: str | None
    updated_at: str | None


class ServiceRequest(TypedDict):
    """A service: either command, or cmd and args"""

    # shell command line; or cmd and args:
    command: NotRequired[str]
    # program to run without a shell
    cmd: NotRequired[str]
    # its arguments
    args: NotRequired[list[str]]
    cwd: NotRequired[str]
    # name or number of the user in the sandbox
    user: NotRequired[str]
    # overrides the sandbox's environment; never returned
    env: NotRequired[dict[str, str]]
    # when to restart the command (default always)
    restart: NotRequired[Literal["always", "on-failure", "no"]]
    # number of consecutive early exits after which the service has failed; 0: no limit
    restart_limit: NotRequired[int]
    # delay of the first restart, doubled up to a minute (default 500)
    restart_delay_ms: NotRequired[int]
    # time from SIGTERM to SIGKILL (default 5000)
    stop_timeout_ms: NotRequired[int]
    # a running service keeps the sandbox from being idle
    keep_awake: NotRequired[bool]


class ServiceLog(TypedDict):
    """Output of a service"""

    name: str
    stdout: str
    stderr: str
    # offset of the first returned byte; earlier bytes are lost or were not requested
    stdout_offset: int
    stderr_offset: int
    # value of since_stdout for the next call
    stdout_next: int
    stderr_next: int
    # bytes written by all runs since the start of the sandbox
    stdout_bytes: int
    stderr_bytes: int


class SandboxResize(TypedDict):
    """New limits; omitted members and 0 keep their values"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB; can be raised while the sandbox is stopped
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class SandboxEnvironment(TypedDict):
    """Changes of a sandbox's own variables; the template's variables stay"""

    # variables to add or replace
    set: NotRequired[dict[str, str]]
    # names to remove before variables are added
    unset: NotRequired[list[str]]


class QuotaList(TypedDict):
    """Limits and their use"""

    items: list[Quota]


class Quota(TypedDict):
    """A limit and its use"""

    scope: Literal["project", "key", "organization"]
    # id of the project, key or organisation
    subject: str
    name: str
    unit: str
    about: str
    # 0 = no limit
    limit: float
    # -1: not counted, of requests per second
    used: float
    # end of the minute or the day; null: when the use falls
    reset_at: str | None


class QuotaChange(TypedDict):
    """New limits; omitted members keep their values, 0 removes a limit"""

    # sandboxes that run or are paused
    sandboxes_running: NotRequired[float]
    # stopped and archived sandboxes: a create is refused while there are as many
    sandboxes_stopped: NotRequired[float]
    # CPUs of running sandboxes together
    cpu: NotRequired[float]
    # memory of running sandboxes together
    memory_mb: NotRequired[float]
    # disk limits of all sandboxes together
    disk_mb: NotRequired[float]
    # sandboxes made in one minute of the clock
    creates_per_minute: NotRequired[float]
    # requests in one second; each server of the store takes an equal part
    requests_per_second: NotRequired[float]
    # what sandboxes send in a UTC day
    egress_mb_per_day: NotRequired[float]


class TrashList(TypedDict):
    """Deleted items that can be restored"""

    items: list[TrashItem]


class TrashItem(TypedDict):
    """A deleted item that can be restored"""

    # sandbox, snapshot or layer
    kind: str
    id: str
    name: NotRequired[str]
    project: NotRequired[str]
    # deleted: by a call; orphan: the store has no row for it
    reason: str
    # when it is deleted permanently
    until: str | None
    # -1: not measured yet
    size_bytes: int


class StoppedAll(TypedDict):
    """Number of stopped sandboxes"""

    stopped: int
    # number of sandboxes that still run; repeat the call
    left: int


# A template by steps
BuildCreate = TypedDict("BuildCreate", {
    "internet": "NotRequired[bool]",
    "name": "str",
    "also": "NotRequired[list[str]]",
    "from": "NotRequired[str]",
    "image": "NotRequired[str]",
    "login": "NotRequired[RegistryLogin]",
    "description": "NotRequired[str]",
    "steps": "NotRequired[list[BuildStep]]",
    "stages": "NotRequired[list[BuildStage]]",
    "secrets": "NotRequired[dict[str, str]]",
    "notes": "NotRequired[list[str]]",
    "start": "NotRequired[str]",
    "entrypoint": "NotRequired[list[str]]",
    "ready": "NotRequired[str]",
    "ready_timeout_ms": "NotRequired[int]",
    "timeout_ms": "NotRequired[int]",
    "resources": "NotRequired[BuildResources]",
    "ports": "NotRequired[Any]",
    "no_cache": "NotRequired[bool]",
    "pull": "NotRequired[bool]",
})


# One step of a build
BuildStep = TypedDict("BuildStep", {
    "type": 'Literal["run", "copy", "env", "workdir", "user", "write", "folder"]',
    "command": "NotRequired[str]",
    "args": "NotRequired[list[str]]",
    "env": "NotRequired[dict[str, str]]",
    "files": "NotRequired[str]",
    "from": "NotRequired[str]",
    "paths": "NotRequired[list[str]]",
    "text": "NotRequired[str]",
    "mounts": "NotRequired[list[BuildMount]]",
    "path": "NotRequired[str]",
    "user": "NotRequired[str]",
    "mode": "NotRequired[str]",
    "timeout_ms": "NotRequired[int]",
    "force": "NotRequired[bool]",
})


# What a run step finds at a path, and its layer does not contain
BuildMount = TypedDict("BuildMount", {
    "type": 'Literal["cache", "bind", "secret", "tmpfs"]',
    "id": "NotRequired[str]",
    "path": "NotRequired[str]",
    "from": "NotRequired[str]",
    "source": "NotRequired[str]",
    "files": "NotRequired[str]",
    "file": "NotRequired[bool]",
    "env": "NotRequired[str]",
    "user": "NotRequired[str]",
    "mode": "NotRequired[str]",
    "required": "NotRequired[bool]",
})


# Steps before those of the template, for files that these copy
BuildStage = TypedDict("BuildStage", {
    "name": "str",
    "from": "NotRequired[str]",
    "image": "NotRequired[str]",
    "steps": "NotRequired[list[BuildStep]]",
})


class BuildResources(TypedDict):
    """Of the template's sandboxes, and of those that build it"""

    # vCPUs; 0 = inherited
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


# A build of a template from steps
Build = TypedDict("Build", {
    "exit_code": "int | None",
    "id": "str",
    "name": "str",
    "from": "str",
    "template": "str | None",
    "status": "str",
    "message": "str | None",
    "step": "int",
    "step_count": "int",
    "cached_count": "int",
    "log_lines": "int",
    "sandbox": "str | None",
    "project": "str",
    "node": "str",
    "created_at": "str | None",
    "started_at": "str | None",
    "ended_at": "str | None",
})


class BuildList(TypedDict):
    """One page of builds"""

    items: list[Build]
    next_page: str | None


class BuildLogs(TypedDict):
    """Lines of a build's log"""

    # list of {line, at, step, level, stream, text}
    lines: Any
    # value of since for the next call
    next: int
    # status of the build
    status: str


class BuildFiles(TypedDict):
    """Files for copy steps; they are deleted a day after their last use"""

    hash: str
    present: bool
    # unpacked size of the tar
    size_bytes: int


class Preview(TypedDict):
    """Preview settings of a sandbox"""

    enabled: bool
    # whether links may be given to people without a key
    public: bool
    # ports that the server and the template allow, or any
    ports: str
    # whether the server allows links for people without a key
    sharingEnabled: bool
    # false: the sandbox's network is blocked
    reachable: bool
    # domain of preview hosts: PORT-ID.DOMAIN
    domain: str | None


class PreviewChange(TypedDict):
    """Changes of the preview settings"""

    enabled: NotRequired[bool]
    public: NotRequired[bool]
    # revoke all existing links
    rotate: NotRequired[bool]


class PreviewLink(TypedDict):
    """A link to a port"""

    port: int
    # lifetime of the link (default: a day; a private link: an hour)
    ttlSeconds: NotRequired[int]
    # link for the caller's own browser: works without public previews
    private: NotRequired[bool]


class PreviewLinkMade(TypedDict):
    """A link to a preview"""

    token: str
    # path on this server
    path: str
    url: str
    # address with an origin of its own; null if the server has no preview domain
    hostUrl: str | None
    port: int
    private: bool
    expiresAt: str | None


class DaytonaCreate(TypedDict):
    """The sandbox to create"""

    autoStopInterval: int | None
    autoPauseInterval: int | None
    autoArchiveInterval: int | None
    autoDeleteInterval: int | None
    ttlMinutes: int | None
    networkBlockAll: bool | None
    name: str | None
    snapshot: str | None
    user: str | None
    target: str | None
    networkAllowList: str | None
    domainAllowList: str | None
    linkedSandbox: str | None
    outboundProxyUrl: str | None
    env: dict[str, str] | None
    labels: dict[str, str] | None
    public: bool | None
    cpu: float | None
    gpu: float | None
    memory: float | None
    disk: float | None
    volumes: list[DaytonaSandboxVolume] | None
    buildInfo: Any
    secrets: Any


class DaytonaSandboxVolume(TypedDict):
    """A volume in a sandbox"""

    volumeId: str
    mountPath: str
    subpath: NotRequired[str | None]


class DaytonaSandbox(TypedDict):
    """A sandbox"""

    id: str
    organizationId: str
    name: str
    snapshot: str
    user: str
    labels: Any
    public: bool
    networkBlockAll: bool
    domainAllowList: NotRequired[str]
    networkAllowList: NotRequired[str]
    target: str
    cpu: float
    gpu: float
    memory: float
    disk: float
    state: str
    desiredState: str
    errorReason: NotRequired[str]
    recoverable: bool
    backupState: str
    autoStopInterval: int
    autoPauseInterval: int
    autoArchiveInterval: int
    autoDeleteInterval: int
    autoDestroyAt: NotRequired[str | None]
    createdAt: str | None
    updatedAt: str | None
    lastActivityAt: NotRequired[str | None]
    sandboxClass: str
    toolboxProxyUrl: str
    env: Any
    volumes: list[DaytonaSandboxVolume]


class DaytonaLabels(TypedDict):
    """All labels of a sandbox"""

    labels: dict[str, str]


class DaytonaExecute(TypedDict):
    """DaytonaExecute"""

    timeout: int | None
    command: str
    cwd: str | None
    envs: dict[str, str] | None


class DaytonaCodeRun(TypedDict):
    """DaytonaCodeRun"""

    timeout: int | None
    code: str
    language: Literal["python", "javascript", "typescript", "bash", "r", "java"]
    argv: list[str] | None
    envs: dict[str, str] | None


class DaytonaReplace(TypedDict):
    """The text to replace, and the files"""

    files: list[str]
    pattern: str
    newValue: str


class DaytonaDownload(TypedDict):
    """The files to read"""

    paths: list[str]


class DaytonaResize(TypedDict):
    """The new limits"""

    cpu: float | None
    memory: float | None
    disk: float | None


class DaytonaEnv(TypedDict):
    """The variables to set and unset"""

    set: dict[str, str] | None
    unset: list[str] | None
    unsetValuePrefix: str | None


class DaytonaSnapshotTake(TypedDict):
    """The snapshot to take"""

    name: str
    includeMemory: bool | None


class DaytonaFork(TypedDict):
    """A fork to create"""

    name: str | None


class DaytonaSnapshotCreate(TypedDict):
    """A snapshot to create from an image"""

    name: str
    imageName: str | None
    entrypoint: list[str] | None
    cpu: float | None
    gpu: float | None
    memory: float | None
    disk: float | None
    buildInfo: Any


class DaytonaLspServer(TypedDict):
    """A language server"""

    languageId: str
    pathToProject: str


class DaytonaLspDocument(TypedDict):
    """A document of a project"""

    languageId: str
    pathToProject: str
    uri: str


class DaytonaLspCompletion(TypedDict):
    """A position in a document"""

    languageId: str
    pathToProject: str
    uri: str
    position: Any
    context: Any


class DaytonaAttachSecrets(TypedDict):
    """The secrets of a sandbox"""

    secrets: Any


class DaytonaNetwork(TypedDict):
    """DaytonaNetwork"""

    networkBlockAll: bool | None
    networkAllowList: str | None
    domainAllowList: str | None


class DaytonaWarmPoolCreate(TypedDict):
    """The pool to create"""

    snapshot: str
    target: str | None
    pool: int


class DaytonaWarmPool(TypedDict):
    """A pool of prepared sandboxes"""

    id: str
    organizationId: str
    snapshot: str
    target: str
    pool: int
    currentSize: int
    cpu: float
    mem: float
    disk: float
    osUser: str
    env: Any
    errorReason: str | None
    createdAt: str | None
    updatedAt: str | None


class DaytonaWarmPoolUpdate(TypedDict):
    """The new size"""

    pool: int


class DaytonaVolumeCreate(TypedDict):
    """A volume to create"""

    name: str


class DaytonaSecretCreate(TypedDict):
    """A secret to store"""

    name: str
    value: str
    description: str
    hosts: list[str]


class DaytonaSecretChange(TypedDict):
    """The members to replace"""

    value: str
    description: str
    hosts: list[str]


class E2bNewSandbox(TypedDict):
    """The sandbox to create"""

    timeout: int
    autoPauseMemory: bool
    allow_internet_access: bool
    templateID: str
    autoPause: bool
    autoResume: E2bAutoResume
    network: E2bNetwork
    metadata: dict[str, str]
    envVars: dict[str, str]
    iam: Any
    volumeMounts: list[E2bVolumeMount]


class E2bAutoResume(TypedDict):
    """Whether a request to the sandbox wakes it"""

    enabled: bool


class E2bNetwork(TypedDict):
    """Destinations that a sandbox may reach, and access to its ports"""

    allowOut: NotRequired[list[str]]
    denyOut: NotRequired[list[str]]
    maskRequestHost: NotRequired[str]
    egressProxy: NotRequired[Any]
    rules: NotRequired[Any]
    httpsPorts: NotRequired[Any]
    allowPublicTraffic: NotRequired[bool]
    allow_internet_access: NotRequired[bool]


class E2bVolumeMount(TypedDict):
    """A volume and the folder where it is mounted"""

    name: str
    path: str


class E2bWake(TypedDict):
    """Seconds from now, and whether the processes are resumed"""

    timeout: int
    memory: bool


class E2bTimeout(TypedDict):
    """Seconds from now"""

    timeout: int


class E2bRefresh(TypedDict):
    """Seconds from now"""

    duration: int


class E2bPause(TypedDict):
    """Whether to keep the memory"""

    memory: bool


class DaytonaSessionCreate(TypedDict):
    """A session to open"""

    sessionId: str


# A command to run
DaytonaSessionExec = TypedDict("DaytonaSessionExec", {
    "command": "str",
    "runAsync": "bool | None",
    "async": "bool | None",
})


class DaytonaSessionInput(TypedDict):
    """Text for the standard input of a command"""

    data: str


class DaytonaPtyCreate(TypedDict):
    """A terminal to open"""

    id: str
    cwd: str
    cols: int
    rows: int
    envs: dict[str, str] | None


class DaytonaPtyResize(TypedDict):
    """The size of a terminal"""

    cols: int
    rows: int


class E2bSnapshotCreate(TypedDict):
    """The name of the snapshot"""

    name: str


class E2bFork(TypedDict):
    """The number of forks and their timeout in seconds"""

    timeout: int
    count: int


class E2bNewVolume(TypedDict):
    """A volume to create"""

    name: str


class E2bAttributes(TypedDict):
    """Owner, group and mode of a file"""

    uid: int
    gid: int
    mode: int


class E2bNewSecret(TypedDict):
    """A secret to store"""

    name: str
    value: str
    metadata: dict[str, str]


class E2bSecretUpdate(TypedDict):
    """A new value of a secret"""

    value: str
    metadata: dict[str, str]


class E2bTemplateUpdate(TypedDict):
    """Whether all projects may use the template"""

    public: bool


class E2bTagsAssign(TypedDict):
    """A template and the tags to add"""

    target: str
    tags: list[str]


class E2bTagsRemove(TypedDict):
    """A template and the tags to remove"""

    name: str
    tags: list[str]


class E2bBuildRequest(TypedDict):
    """A template to build"""

    name: str
    alias: str
    tags: list[str]
    cpuCount: int
    memoryMB: int
    minFreeDiskMb: int


class E2bBuildStart(TypedDict):
    """The steps of a template"""

    fromImage: str
    fromTemplate: str
    startCmd: str
    readyCmd: str
    fromImageRegistry: Any
    force: bool
    steps: list[E2bStep]


class E2bStep(TypedDict):
    """A step of a template"""

    type: str
    args: list[str]
    filesHash: str
    force: bool


class DaytonaGitClone(TypedDict):
    """A git call"""

    path: str
    url: str
    branch: str | None
    commit_id: str | None
    username: str | None
    password: str | None
    depth: int | None
    insecure_skip_tls: bool | None


class DaytonaGitAdd(TypedDict):
    """A git call"""

    path: str
    files: list[str] | None


class DaytonaGitCommit(TypedDict):
    """A git call"""

    path: str
    message: str
    author: str | None
    email: str | None
    allow_empty: bool | None


class DaytonaGitBranch(TypedDict):
    """A git call"""

    path: str
    name: str


class DaytonaGitCheckout(TypedDict):
    """A git call"""

    path: str
    branch: str


class DaytonaGitExchange(TypedDict):
    """A git call"""

    path: str
    remote: str | None
    branch: str | None
    username: str | None
    password: str | None
    set_upstream: bool | None


class DaytonaGitInit(TypedDict):
    """A git call"""

    path: str
    initial_branch: str | None
    bare: bool | None


class DaytonaGitReset(TypedDict):
    """A git call"""

    path: str
    mode: str | None
    target: str | None
    files: list[str] | None


class DaytonaGitRestore(TypedDict):
    """A git call"""

    path: str
    source: str | None
    files: list[str] | None
    staged: bool | None
    worktree: bool | None


class DaytonaGitRemote(TypedDict):
    """A git call"""

    path: str
    name: str
    url: str
    fetch: bool | None
    overwrite: bool | None


class DaytonaGitConfig(TypedDict):
    """A git call"""

    path: str | None
    key: str
    value: str
    scope: str | None


class DaytonaGitUser(TypedDict):
    """A git call"""

    path: str | None
    name: str
    email: str
    scope: str | None


class DaytonaGitLogin(TypedDict):
    """A git call"""

    username: str
    password: str
    host: str | None
    protocol: str | None


class DaytonaContextCreate(TypedDict):
    """A context to create"""

    cwd: str | None
    language: str | None


class GitClone(TypedDict):
    """What to clone, and where"""

    # https, http, ssh, git, file, or user@host:path
    url: str
    # target of the clone: a path that does not exist, or an empty folder
    path: str
    # branch or tag
    branch: NotRequired[str]
    # commit to check out after the clone
    commit: NotRequired[str]
    # number of commits to fetch; 0: all
    depth: NotRequired[int]
    # do not check certificates
    insecure: NotRequired[bool]
    # user name for the password; default git, which servers accept with tokens
    username: NotRequired[str]
    # password or token for this call and its server; it is not stored
    password: NotRequired[str]


class GitStatus(TypedDict):
    """The state of the working tree"""

    # null if HEAD is detached
    branch: str | None
    # null before the first commit
    commit: str | None
    upstream: str | None
    # commits that the upstream branch lacks
    ahead: int
    # commits that only the upstream branch has
    behind: int
    clean: bool
    files: list[GitFile]


class GitFile(TypedDict):
    """A file with changes"""

    path: str
    # old path of a rename or copy
    old_path: str | None
    # unchanged, modified, type, added, deleted, renamed, copied, unmerged or untracked
    staged: str
    # same values as staged
    worktree: str


class GitLog(TypedDict):
    """Commits, newest first"""

    items: list[GitCommit]


class GitCommit(TypedDict):
    """A commit"""

    hash: str
    author: str
    email: str
    message: str
    at: str | None


class GitAdd(TypedDict):
    """Files to stage; deleted files are staged, too"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    # paths without patterns; "." stages everything
    files: list[str]


class GitCommitRequest(TypedDict):
    """Options of a commit"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    message: str
    # name of the author (default: the configuration of git)
    author: NotRequired[str]
    email: NotRequired[str]
    allow_empty: NotRequired[bool]


class GitHash(TypedDict):
    """The new commit"""

    hash: str


class GitBranches(TypedDict):
    """Local branches"""

    current: str | None
    branches: list[str]


class GitBranch(TypedDict):
    """A branch to create at HEAD"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    name: str
    # check the branch out
    checkout: NotRequired[bool]


class GitCheckout(TypedDict):
    """What to check out"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    # branch, tag or commit
    name: str


class GitPush(TypedDict):
    """What to push"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    # default origin
    remote: NotRequired[str]
    # default: the current branch
    branch: NotRequired[str]
    set_upstream: NotRequired[bool]
    # user name for the password; default git, which servers accept with tokens
    username: NotRequired[str]
    # password or token for this call and its server; it is not stored
    password: NotRequired[str]


class GitPull(TypedDict):
    """What to pull and merge"""

    # path of the repository; a relative path is below the default folder; default: the default folder itself
    path: NotRequired[str]
    # default origin
    remote: NotRequired[str]
    # default: the upstream of the current branch
    branch: NotRequired[str]
    # user name for the password; default git, which servers accept with tokens
    username: NotRequired[str]
    # password or token for this call and its server; it is not stored
    password: NotRequired[str]
