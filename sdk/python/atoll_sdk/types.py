# SPDX-License-Identifier: Apache-2.0
"""What the API takes and answers. Written by tools/sdk_types.py --write from docs/api/openapi.json."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Error(TypedDict):
    """Error"""

    error: dict[str, Any]


class SandboxCreate(TypedDict):
    """What to make"""

    # name or id; else the server's default
    template: NotRequired[str]
    # unique in the project; else generated
    name: NotRequired[str]
    # a label of where; kept as it is
    region: NotRequired[str]
    # for finding it again
    labels: NotRequired[dict[str, str]]
    # environment of every command, over the template's; never shown again
    env: NotRequired[dict[str, str]]
    resources: NotRequired[ResourcesRequest]
    # false = no network at all
    internet: NotRequired[bool]
    # the same as internet, by name
    network: NotRequired[Literal["blocked", "internet"]]
    # false = nothing of it is seen (default true)
    previewEnabled: NotRequired[bool]
    # links to its previews may be shared (default false)
    previewPublic: NotRequired[bool]
    # which addresses it may reach; else all that the server lets its sandboxes reach
    egress: NotRequired[SandboxEgress]
    # id or name of a config of /accounts/me/sandboxes, for what is not given here
    config: NotRequired[str]
    # name or id: begin with its files, on its template
    snapshot: NotRequired[str]
    # exempt from the idle reaper
    persistent: NotRequired[bool]
    # so long after its creation an ephemeral one is deleted and a persistent one stopped, its files kept; 0 = never
    timeout_ms: NotRequired[int]
    # delete it when nobody used it for so long; 0 = the server's
    idle_reap_ms: NotRequired[int]
    # whatever it does: an ephemeral one is deleted so long after its creation, a persistent one stopped so long after its last start; 0 = the server's
    lifetime_max_ms: NotRequired[int]
    # pause it when nobody used it for so long; 0 = the server's, -1 = never
    autoPauseMs: NotRequired[int]
    # stop it when nobody used it for so long; 0 = the server's, -1 = never
    autoStopMs: NotRequired[int]
    # delete it so long after it was stopped, persistent or not; 0 = never
    autoDeleteMs: NotRequired[int]
    # move its files to the blob store so long after it was stopped; 0 = never
    autoArchiveMs: NotRequired[int]
    # name or id of one to write to, at /workspace
    volume: NotRequired[str]
    # or several, each where it is wanted
    volumes: NotRequired[list[SandboxVolume]]
    # KEY: the volume home-KEY is at /home/user, and made if need be
    persistentHome: NotRequired[str]
    # GiB that volume can hold, when it is made (default: no limit)
    persistentDiskGb: NotRequired[int]


class ResourcesRequest(TypedDict):
    """Limits; what is left out or 0 is inherited from project and platform"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class SandboxEgress(TypedDict):
    """Whom a sandbox may reach"""

    # addresses, ranges and hosts that it may reach, whatever is denied; a host's name (by TLS on port 443, and HTTP on 80) needs all to be denied
    allow: NotRequired[list[str]]
    # that it may not; "0.0.0.0/0" is all of them
    deny: NotRequired[list[str]]


class SandboxVolume(TypedDict):
    """A volume, and where it is to be"""

    # name or id
    volume: str
    # absolute (default /workspace)
    path: NotRequired[str]
    # any number of sandboxes may read it
    read_only: NotRequired[bool]
    # a folder of it, made when it is missing (default all of it)
    subpath: NotRequired[str]


class Sandbox(TypedDict):
    """One isolated computer"""

    id: str
    name: str
    # what it really is: pending creating started paused stopping stopped archived deleting deleted failed
    state: str
    # what was asked for last
    desired_state: str
    # why it ended or was paused: none user idle lifetime oom exit host_lost error budget disk
    reason: str
    # ok, or unresponsive: it does not answer, and calls that need it are refused until it does; null: it does not run
    agent: str | None
    template: str
    provider: str
    # what really stands around it
    isolation: str
    region: str
    project: str
    # blocked or internet
    network: str
    # object of texts
    labels: Any
    # names of its environment; values are never shown
    env_names: list[str]
    resources: Resources
    persistent: bool
    created_at: str | None
    started_at: str | None
    last_activity_at: str | None
    timeout_at: str | None
    # since its start; 0 when stopped
    uptime_ms: int
    idle_reap_ms: int
    lifetime_max_ms: int
    # paused after so long without use; 0 = never
    autoPauseMs: int
    # stopped after so long without use; 0 = never
    autoStopMs: int
    # 0 = never
    autoArchiveMs: int
    # deleted so long after a stop; 0 = never
    autoDeleteMs: int
    # not paused, stopped or deleted for idleness before that
    awake_until: str | None
    preview: SandboxPreview
    egress: SandboxEgress
    last_event: LastEvent
    # null but in the answers to GET of one sandbox and of a list
    made_from: SandboxOrigin | None
    # what its files lie on, the uppermost first, its template last; at most 64 snapshots; null but in the answer to GET of one sandbox
    lineage: list[LineageStep] | None
    # that it has; null as made_from is
    volumes: list[AttachedVolume] | None


class Resources(TypedDict):
    """The limits that are in force"""

    # vCPUs
    cpu: float
    # MiB
    memory_mb: int
    # MiB
    disk_mb: int
    # processes and threads
    pids: int
    # this host cannot enforce disk_mb
    disk_advisory: bool


class SandboxPreview(TypedDict):
    """What of it may be seen; more at /preview"""

    enabled: bool
    public: bool
    # the server's and the template's, or any; null but in the answer to GET of one sandbox
    ports: str | None
    # the server has a SANDBOX_PREVIEW_SECRET
    sharingEnabled: bool


class LastEvent(TypedDict):
    """What happened to it last"""

    at: str | None
    text: str


class SandboxOrigin(TypedDict):
    """What a sandbox was made of"""

    # template or snapshot; a fork is of a snapshot, too
    kind: str | None
    # its id
    snapshot: str | None
    # null: it is removed
    snapshot_name: str | None
    # id of the one that the snapshot was taken of: of a fork, the one that was forked
    sandbox: str | None
    sandbox_name: str | None


class LineageStep(TypedDict):
    """What files lie on"""

    # snapshot or template
    kind: str
    id: str
    # null: it is removed
    name: str | None
    # id of the one that the snapshot was taken of
    sandbox: str | None
    sandbox_name: str | None


class AttachedVolume(TypedDict):
    """A volume of a sandbox"""

    # its name
    volume: str
    volume_id: str
    # where it is inside
    path: str
    read_only: bool


class SandboxList(TypedDict):
    """One page of sandboxes"""

    items: list[Sandbox]
    next_page: str | None


class SandboxKeepalive(TypedDict):
    """How long idleness is to do nothing to it"""

    # from now; never shortens what was given before
    timeoutMs: int


class SandboxPersist(TypedDict):
    """How long idleness is to do nothing to it"""

    # from now; 0 ends it, and a keepalive with it
    hours: int


class Stats(TypedDict):
    """What a sandbox uses now"""

    sampled_at: str | None
    uptime_ms: int
    # since its start
    cpu_usage_us: int
    # of one vCPU, on average since its start; take two samples of cpu_usage_us for a shorter time
    cpu_percent: float
    memory_bytes: int
    memory_limit_bytes: int
    # files on top of the template; -1 = not known
    disk_bytes: int
    disk_limit_bytes: int
    pids: int
    pids_limit: int
    network_in_bytes: int
    network_out_bytes: int
    oom_kills: int


class StatsHistory(TypedDict):
    """The newest samples of a sandbox, one of now among them while it runs"""

    # oldest first
    items: list[StatsSample]
    memory_limit_bytes: int
    disk_limit_bytes: int


class StatsSample(TypedDict):
    """What a sandbox used at a time"""

    at: str | None
    # of one vCPU, since the sample before; of the first one since the sandbox's start
    cpu_percent: float
    # since its start
    cpu_usage_us: int
    memory_bytes: int
    # files on top of the template; -1 = not known
    disk_bytes: int
    pids: int
    network_in_bytes: int
    network_out_bytes: int


class SnapshotCreate(TypedDict):
    """How to take a snapshot"""

    # unique in the project; else its id
    name: NotRequired[str]
    # answer when it has come to the disk (default true); the sandbox does not stand still for that
    sync: NotRequired[bool]
    # with its processes (default false): refused with what this host lacks
    memory: NotRequired[bool]
    # and begin to make a backup of it in the blob store, which outlives it and the server
    backup: NotRequired[bool]


class Snapshot(TypedDict):
    """The files of a sandbox as they were at one moment"""

    id: str
    name: str
    project: str
    # id of the one it was taken of
    sandbox: str
    sandbox_name: str
    # id of the snapshot that the sandbox lay on; null: on its template alone
    parent: str | None
    template: str
    provider: str
    # making ready removing lost
    state: str
    # rename: it was stopped; switch: its processes got another root; copy: its files were copied while they stood still
    method: str
    # of a copy: what was in the way of a switch
    because: str | None
    # layers on top of the template
    depth: int
    # how long its processes stood still
    frozen_ms: float
    created_at: str | None
    # a backup of it is ready
    backup: bool
    # that are made of it or being made; at /api/sandbox/backups
    backups: list[SnapshotBackup]
    # what it lies on, the uppermost first, its template last; at most 64 snapshots; null but in the answer to GET of one snapshot
    lineage: list[LineageStep] | None


class SnapshotBackup(TypedDict):
    """A backup of a snapshot"""

    id: str
    name: str
    # making or ready
    state: str
    # its name in the blob store
    blob: str


class Fork(TypedDict):
    """How many forks to make"""

    # how many (default 1)
    count: NotRequired[int]
    # of several: NAME-1, NAME-2 …; else generated
    name: NotRequired[str]


class Forked(TypedDict):
    """The forks, and the snapshot they lie on"""

    items: list[Sandbox]
    snapshot: Snapshot
    # that each has as the first one has them: those that it reads
    volumes: list[AttachedVolume]
    # that the first one writes to, and the forks do not have
    volumes_left_out: list[AttachedVolume]


class SnapshotList(TypedDict):
    """One page of snapshots"""

    items: list[Snapshot]
    next_page: str | None


class SnapshotRestore(TypedDict):
    """Where to restore to"""

    # a new sandbox with its files, on its template; its own stays as it is (default false: its own, or a new one when that is deleted)
    new: NotRequired[bool]
    # a new one with this name
    name: NotRequired[str]


class SnapshotExport(TypedDict):
    """How to make a backup"""

    # of the backup, unique in the project; else its id
    name: NotRequired[str]
    # the whole filesystem, not only what differs from the template: it can be imported where the template is not
    full: NotRequired[bool]


class Backup(TypedDict):
    """A snapshot as one file of the blob store"""

    id: str
    name: str
    project: str
    # id of what it was made of, which may be gone or another server's
    snapshot: str
    snapshot_name: str
    template: str
    # making ready failed removing
    state: str
    # how far it is, or why it failed
    state_text: str | None
    # of the whole file
    sha256: str | None
    # its name in the blob store
    blob: str
    # bytes of the file
    size: int
    # how many are in it
    files: int
    # their bytes, unpacked
    files_bytes: int
    # the template is in it, too
    full: bool
    created_at: str | None


class SnapshotImport(TypedDict):
    """Which backup becomes a snapshot"""

    # name or id
    backup: str
    # of the snapshot, unique in the project; else its id
    name: NotRequired[str]
    # one with the same files as that which the backup was made on, where it has another name here; a full backup makes one of this name where there is none
    template: NotRequired[str]


class BackupList(TypedDict):
    """One page of backups"""

    items: list[Backup]
    next_page: str | None


class ArtifactKeep(TypedDict):
    """Which file is kept"""

    # a file: absolute, or below the default folder
    path: str
    # who reads it; else the template's
    user: NotRequired[str]
    # for how long; 0 = as the project has it
    keep_seconds: NotRequired[int]


class StoredArtifact(TypedDict):
    """A file of a sandbox that is kept"""

    id: str
    project: str
    # id of the one it is of, which may be gone
    sandbox: str
    sandbox_name: str
    # of Atoll-Run
    run: str | None
    # number of the command that made it; 0 = not told
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
    # then it is removed; null = it is kept
    expires_at: str | None
    # path on this server that gives its bytes without a key; null for a key without sandbox:write
    url: str | None
    url_expires_at: str | None


class StoredArtifactList(TypedDict):
    """One page of artifacts"""

    items: list[StoredArtifact]
    next_page: str | None


class ArtifactUrl(TypedDict):
    """For how long an address is good"""

    # at most seven days
    expires_in_seconds: int


class Exec(TypedDict):
    """A command: either command, or cmd and args"""

    # a shell line (bash, else sh)
    command: NotRequired[str]
    # a program, run without a shell
    cmd: NotRequired[str]
    # arguments of cmd
    args: NotRequired[list[str]]
    # folder to run in; relative ones are below the default
    cwd: NotRequired[str]
    # over the sandbox's own
    env: NotRequired[dict[str, str]]
    # name or number; else the template's
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # kill it and all it started after so long; 0 = the server's default
    timeout_ms: NotRequired[int]
    # kept per stream in a collected result
    outputLimitBytes: NotRequired[int]
    # a job: answer at once, with a resultId to ask for its end by
    background: NotRequired[bool]
    # of a job: who may ask for it; else the header Atoll-Conversation
    conversation: NotRequired[str]
    # of a job: where its end is told
    origin: NotRequired[JobOrigin]
    # kill it when this connection breaks; else it goes on
    end_on_disconnect: NotRequired[bool]
    # on a terminal; its output is all stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder: its files that were made or changed meanwhile are kept, and told before the end
    artifacts: NotRequired[str]
    # what lists call it
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
    """What a command did"""

    # exit code 0 and in time
    ok: bool
    # what ran it: bash, sh, program, python …
    runtime: str
    # 0 when nothing could be started
    process: int
    # 128 + signal when one ended it; 127 when there is no such program
    exit_code: int
    # such as SIGKILL
    signal: str | None
    timed_out: bool
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: str
    duration_ms: int
    # true when an interpreter that waited for code ran it; else absent
    warm: NotRequired[bool]
    # the first and last half of outputLimitBytes, and a line between them that tells how many bytes were cut
    stdout: str
    # base64 when stdout is not UTF-8
    stdout_encoding: NotRequired[str]
    stderr: str
    stderr_encoding: NotRequired[str]
    truncated: bool
    # of code in a context, as all that follows
    contextId: NotRequired[str]
    # which block of its interpreter it was
    execution_count: NotRequired[int]
    # its interpreter has ended: its state is gone
    context_ended: NotRequired[bool]
    # what it shows: its value, figures, what it displays
    results: NotRequired[list[CodeResult]]
    # null when it did not fail
    error: NotRequired[CodeError]
    # that were kept, when the call asked for it
    artifacts: NotRequired[list[StoredArtifact]]


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


class Code(TypedDict):
    """A block of code"""

    language: Literal["python", "javascript", "typescript", "bash"]
    # at most 128 KiB
    code: str
    # the context that runs it and keeps its state; default: the language's own, made when it is not there
    contextId: NotRequired[str]
    # folder to run in; relative ones are below the default
    cwd: NotRequired[str]
    # over the sandbox's own
    env: NotRequired[dict[str, str]]
    # name or number; else the template's
    user: NotRequired[str]
    # text for its standard input
    stdin: NotRequired[str]
    # bytes for its standard input
    stdin_base64: NotRequired[str]
    # keep standard input open for POST …/processes/:process/stdin
    stdin_open: NotRequired[bool]
    # kill it and all it started after so long; 0 = the server's default
    timeout_ms: NotRequired[int]
    # kept per stream in a collected result
    outputLimitBytes: NotRequired[int]
    # a job: answer at once, with a resultId to ask for its end by
    background: NotRequired[bool]
    # of a job: who may ask for it; else the header Atoll-Conversation
    conversation: NotRequired[str]
    # of a job: where its end is told
    origin: NotRequired[JobOrigin]
    # kill it when this connection breaks; else it goes on
    end_on_disconnect: NotRequired[bool]
    # on a terminal; its output is all stdout
    tty: NotRequired[bool]
    rows: NotRequired[int]
    columns: NotRequired[int]
    # folder: its files that were made or changed meanwhile are kept, and told before the end
    artifacts: NotRequired[str]
    # what lists call it
    label: NotRequired[str]


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
    """How many entries or bytes it was"""

    count: int


class Signal(TypedDict):
    """A signal for a process"""

    # SIGTERM, TERM or 15
    signal: str
    # everything it started, not only its process group
    tree: NotRequired[bool]


class FileList(TypedDict):
    """Files and folders"""

    items: list[FileEntry]
    truncated: bool
    # of GET: when it was asked for, unix ms by the sandbox's clock
    listed_at_ms: int


class FileEntry(TypedDict):
    """A file or folder"""

    # as asked for, or relative to the listed folder
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
    # a link's target
    link: str | None


class FileMkdir(TypedDict):
    """A folder to make"""

    # absolute, or below the default folder
    path: str
    user: NotRequired[str]
    # octal (default 0755)
    mode: NotRequired[str]
    # missing parents too; one that is there is fine
    parents: NotRequired[bool]


class FileMove(TypedDict):
    """A file and its new path"""

    # absolute, or below the default folder
    path: str
    # the new path
    target: str
    user: NotRequired[str]
    # make the target's missing parents
    parents: NotRequired[bool]
    # fail when the target exists
    no_replace: NotRequired[bool]
    # copy folders too
    recursive: NotRequired[bool]


class FileRemove(TypedDict):
    """A file to remove"""

    # absolute, or below the default folder
    path: str
    user: NotRequired[str]
    recursive: NotRequired[bool]


class FileRead(TypedDict):
    """A file to read as text"""

    # absolute, or below the default folder
    path: str
    user: NotRequired[str]
    # first byte
    offset: NotRequired[int]
    # bytes at most (default 1 MiB)
    length: NotRequired[int]


class FileContent(TypedDict):
    """Bytes of a file inside JSON"""

    path: str
    content: str
    # base64 when it is not UTF-8
    encoding: str
    # bytes of the whole file
    size: int
    # first byte, or first line
    offset: int
    # bytes here, of a read by bytes
    length: int
    # lines here, of a read by lines
    lines: int
    total_lines: int
    # of the next page; null at the end
    next_offset: int | None
    # there is more
    truncated: bool


class FilePack(TypedDict):
    """A folder, and what is wanted of it"""

    # absolute, or below the default folder
    path: str
    # relative to the folder; a folder comes without what it holds, what is not there or may not be read is left out
    names: list[str]
    user: NotRequired[str]


class FileWrite(TypedDict):
    """A file to write"""

    # absolute, or below the default folder
    path: str
    user: NotRequired[str]
    # text
    content: NotRequired[str]
    # bytes, instead of content
    content_base64: NotRequired[str]
    # octal, of a new file
    mode: NotRequired[str]
    append: NotRequired[bool]
    # fail when the file exists
    no_replace: NotRequired[bool]


class Terminal(TypedDict):
    """A terminal to open"""

    # of the window: one of that name that is open is attached to; default: a new one with a name of its own
    name: NotRequired[str]
    # default 24
    rows: NotRequired[int]
    # default 80
    cols: NotRequired[int]
    # it closes after so long without input and output, unless something runs in it; default: the project's
    ttl_s: NotRequired[int]
    # keep what the window shows, from what is left of its output on, as all new windows do where the project's settings say record_terminals; listed by /api/sandbox/recordings when it has closed
    record: NotRequired[bool]
    # a shell line; else a login shell
    command: NotRequired[str]
    cwd: NotRequired[str]
    user: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # sessionId of an open one: only a new path to it
    session: NotRequired[str]


class TerminalSession(TypedDict):
    """An open terminal"""

    sessionId: str
    # of its WebSocket, with a ticket instead of a key: for one use within a minute
    path: str
    process: int
    # of the window; null when only the session was given
    name: str | None
    # false: it was open already
    created: bool


class TemplateList(TypedDict):
    """Templates"""

    items: list[Template]


class Template(TypedDict):
    """What sandboxes start from"""

    id: str
    name: str
    # null: everybody's
    project: str | None
    description: str
    # pending building ready failed
    state: str
    # progress, or why it failed
    state_text: str
    base_image: str
    runtime: str
    isolation: str
    # that commands run as by default
    user: str
    workdir: str
    # object of texts
    env: Any
    # list of texts
    entrypoint: Any
    # list of numbers
    ports: Any
    # that told its build that the entrypoint was ready
    ready_command: str | None
    # by steps, on top of base_image
    built: bool
    # 0 = inherited
    resources: Any
    # min, target and max; 0 = none
    pool: Any
    # interpreters that its sandboxes keep ready
    warm: Any
    # pause_ms, stop_ms, reap_ms and lifetime_max_ms; 0 = inherited, -1 = never
    idle: Any
    size_bytes: int
    created_at: str | None
    updated_at: str | None


# A template from a registry's image or another template
TemplateCreate = TypedDict("TemplateCreate", {
    "resources": "NotRequired[TemplateResources]",
    "pool": "NotRequired[PoolSize]",
    "idle": "NotRequired[IdleTimes]",
    "description": "NotRequired[str]",
    "runtime": "NotRequired[str]",
    "isolation": "NotRequired[str]",
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
    """What a sandbox gets that asks for nothing else"""

    # vCPUs; 0 = inherited
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class PoolSize(TypedDict):
    """How many sandboxes are prepared before anybody asks"""

    # held even when nobody asks; default: the target
    min: NotRequired[int]
    # held while it is used; 0 = no pool
    target: NotRequired[int]
    # that misses let it grow to; default: twice the target
    max: NotRequired[int]
    # the server's default is the only one that there is
    internet: NotRequired[bool]


class IdleTimes(TypedDict):
    """What becomes of sandboxes that nobody uses; what is left out stays"""

    # paused after so long without use; -1 = never, 0 = as the project or the server says
    pause_ms: NotRequired[int]
    # stopped after so long without use; the same
    stop_ms: NotRequired[int]
    # ephemeral ones are deleted after so long without use
    reap_ms: NotRequired[int]
    # ephemeral ones are deleted at this age, persistent ones stopped so long after their last start
    lifetime_max_ms: NotRequired[int]


class TemplateWarm(TypedDict):
    """An interpreter that waits for code in each sandbox"""

    # python or javascript
    language: str
    # modules that it has imported already
    imports: NotRequired[list[str]]


class RegistryLogin(TypedDict):
    """Who asks a registry for an image"""

    username: str
    # or a token; kept by nobody
    password: str


class TemplatesSeeded(TypedDict):
    """How many were missing"""

    added: int


class TemplateChange(TypedDict):
    """What is given replaces what was"""

    resources: NotRequired[TemplateResources]
    pool: NotRequired[PoolSize]
    idle: NotRequired[IdleTimes]
    description: NotRequired[str]
    # what it is for: a label
    runtime: NotRequired[str]
    # refused unless it is what the server gives
    isolation: NotRequired[str]
    # that commands run as by default
    user: NotRequired[str]
    # an absolute path
    workdir: NotRequired[str]
    # replaces the whole environment
    env: NotRequired[dict[str, str]]
    # interpreters that its sandboxes keep ready for code
    warm: NotRequired[list[TemplateWarm]]
    # program and arguments that a sandbox starts with
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
    # its first characters
    prefix: str
    project: str
    scopes: list[str]
    member: str | None
    # the member's, which bounds the scopes
    role: str | None
    created_at: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class KeyCreate(TypedDict):
    """A key to make"""

    name: str
    # sandbox:read and the like; else all but admin that the caller has, and the member's role allows
    scopes: NotRequired[list[str]]
    # user whom it belongs to: it may never do more than his role, and ends with his membership
    member: NotRequired[str]
    # else never
    expires_at: NotRequired[str | None]
    # the same from now on; 0 = never
    expires_in_ms: NotRequired[int]


class KeyMade(TypedDict):
    """A new key, with its text"""

    id: str
    name: str
    # its first characters
    prefix: str
    project: str
    scopes: list[str]
    member: str | None
    # the member's, which bounds the scopes
    role: str | None
    created_at: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    # its text, told only now
    key: str
    # the same key, as clients of E2B's API want it written
    e2b_key: str


class KeyRotate(TypedDict):
    """What becomes of the old text"""

    # how long the old text is valid still, at most 7 days; 0 = no longer
    grace_ms: NotRequired[int]


class ProjectList(TypedDict):
    """Projects by name"""

    items: list[Project]
    next_page: str | None


class Project(TypedDict):
    """Owns keys, templates and sandboxes; an admin acts in it by the header X-Atoll-Project"""

    id: str
    name: str
    sandboxes_max: int
    # 0 = the platform's
    storage_max_mb: int
    defaults: Limits
    maximums: Limits
    # it is being deleted
    closing: bool
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
    """A project to make"""

    name: str
    # 0 = the platform's; only by an admin of the platform
    sandboxes_max: NotRequired[int]
    # MiB of its templates, snapshots, backups and volumes together; 0 = the platform's; only by an admin of the platform
    storage_max_mb: NotRequired[int]
    # limits of a sandbox that asks for none
    defaults: NotRequired[Limits]
    # that no sandbox exceeds; only by an admin of the platform
    maximums: NotRequired[Limits]
    # else generated
    id: NotRequired[str]
    # user who becomes its first member, an admin
    owner: NotRequired[str]


class ProjectChange(TypedDict):
    """What is given replaces what was"""

    name: NotRequired[str]
    # 0 = the platform's; only by an admin of the platform
    sandboxes_max: NotRequired[int]
    # MiB of its templates, snapshots, backups and volumes together; 0 = the platform's; only by an admin of the platform
    storage_max_mb: NotRequired[int]
    # limits of a sandbox that asks for none
    defaults: NotRequired[Limits]
    # that no sandbox exceeds; only by an admin of the platform
    maximums: NotRequired[Limits]


class ProjectStorage(TypedDict):
    """What a project keeps, as it was measured last, and what it may keep"""

    # 0 = no limit
    limit_mb: int
    # of all that follow
    bytes: int
    templates_bytes: int
    snapshots_bytes: int
    # archived sandboxes among them
    backups_bytes: int
    volumes_bytes: int


class SecretRotation(TypedDict):
    """What a rotation has done"""

    # values that were encrypted anew
    resealed: int


class GatewayExecute(TypedDict):
    """A block of code"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    code: str
    # default python
    language: NotRequired[Literal["python", "javascript", "typescript", "bash"]]
    stdin: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # 0 = the server's default
    timeout_ms: NotRequired[int]
    # kept per stream
    outputLimitBytes: NotRequired[int]
    # folder of the workspace: its files that were made or changed meanwhile are kept, and told before the end
    artifacts: NotRequired[str]
    # a job: answer at once, with a resultId
    background: NotRequired[bool]
    # of a job: who may ask for it
    conversation: NotRequired[str]
    # of a job: where its end is told
    origin: NotRequired[JobOrigin]


class GatewayResult(TypedDict):
    """What a command did, and the files it left"""

    # exit code 0 and in time
    ok: bool
    # what ran it: bash, sh, program, python …
    runtime: str
    # 0 when nothing could be started
    process: int
    # 128 + signal when one ended it; 127 when there is no such program
    exit_code: int
    # such as SIGKILL
    signal: str | None
    timed_out: bool
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: str
    duration_ms: int
    # true when an interpreter that waited for code ran it; else absent
    warm: NotRequired[bool]
    # the first and last half of outputLimitBytes, and a line between them that tells how many bytes were cut
    stdout: str
    # base64 when stdout is not UTF-8
    stdout_encoding: NotRequired[str]
    stderr: str
    stderr_encoding: NotRequired[str]
    truncated: bool
    # files of the workspace that were made or changed meanwhile: path (in the workspace), size and media_type of each; when the call asked to keep them, all of those that are kept
    artifacts: list[StoredArtifact]


class GatewayBash(TypedDict):
    """A shell command"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # a shell line
    command: str
    stdin: NotRequired[str]
    env: NotRequired[dict[str, str]]
    # 0 = the server's default
    timeout_ms: NotRequired[int]
    # kept per stream
    outputLimitBytes: NotRequired[int]
    # folder of the workspace: its files that were made or changed meanwhile are kept, and told before the end
    artifacts: NotRequired[str]
    # a job: answer at once, with a resultId
    background: NotRequired[bool]
    # of a job: who may ask for it
    conversation: NotRequired[str]
    # of a job: where its end is told
    origin: NotRequired[JobOrigin]


class GatewayRead(TypedDict):
    """Lines of a text file"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # relative to the workspace
    path: str
    # first line (default 1)
    offset: NotRequired[int]
    # lines at most (default 2000)
    limit: NotRequired[int]


class GatewayReadBinary(TypedDict):
    """Bytes of a file"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # relative to the workspace
    path: str
    # first byte
    offset: NotRequired[int]
    # bytes at most (default 8 MiB)
    limit: NotRequired[int]


class GatewayWrite(TypedDict):
    """A file to write"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # relative to the workspace
    path: str
    content: NotRequired[str]
    # instead of content
    content_base64: NotRequired[str]
    append: NotRequired[bool]


class GatewayGrep(TypedDict):
    """What to search for"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # a regular expression
    pattern: str
    # file or folder; else all
    path: NotRequired[str]
    # only files of such a name
    glob: NotRequired[str]
    ignore_case: NotRequired[bool]
    # default 200
    max_results: NotRequired[int]


class GatewayMatches(TypedDict):
    """Lines that match"""

    matches: list[GatewayMatch]
    truncated: bool


class GatewayMatch(TypedDict):
    """A line that matches"""

    # relative to the workspace
    path: str
    # from 1
    line: int
    # at most 1000 bytes of the line
    text: str
    # base64 when it is not UTF-8
    encoding: str


class GatewayGlob(TypedDict):
    """A pattern of paths"""

    # default: "default"
    tenant_id: NotRequired[str]
    # its sandbox is made on first use
    session_id: str
    # ? * [a-z], and ** across folders
    pattern: str
    # where; else the workspace
    path: NotRequired[str]
    # paths at most (default 1000)
    limit: NotRequired[int]


class GatewayPaths(TypedDict):
    """Paths that match"""

    # relative to the path searched
    paths: list[str]
    truncated: bool


class GatewayCopy(TypedDict):
    """Files for a session's workspace"""

    files: list[GatewayFile]


class GatewayFile(TypedDict):
    """A file and what is in it"""

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

    # how long a call that needs approval waits for it (default 20 s)
    approvalWaitMs: NotRequired[int]
    # id or name of a sandbox; or
    sandboxId: NotRequired[str]
    # key of a lease, whose sandbox is made on first use; or
    lease: NotRequired[str]
    # a session, as of /v1/sandbox
    sessionId: NotRequired[str]
    # of the session; default: "default"
    tenantId: NotRequired[str]
    # of /accounts/me/sandboxes: what the lease's sandbox is like, and what tools may do; else what the sandbox was made from
    config: NotRequired[str]
    # whom its background jobs belong to
    conversationId: NotRequired[str]
    # where the turn came from: the ends of its background jobs are told there, and who approves a call sees it
    origin: NotRequired[JobOrigin]
    # by the tool's inputSchema
    input: NotRequired[Any]


class ToolResult(TypedDict):
    """What a tool gives back"""

    # a list of text, image and resource, as in MCP
    content: Any
    # by the tool's outputSchema
    structuredContent: Any
    # with status 202: nothing was done, see /v1/approvals; the same call, made again, goes on
    approvalId: str


class ApprovalList(TypedDict):
    """Calls, the newest first"""

    items: list[Approval]


class Approval(TypedDict):
    """A call that needs approval"""

    id: str
    tool: str
    # of the call, as JSON text; the end of a long one is left out
    input: str
    # pending approved refused used
    state: str
    sandboxId: str | None
    conversationId: str | None
    # where the turn of the call came from, as its caller says
    origin: JobOrigin | None
    # that asks
    keyId: str
    note: str | None
    # id of a key
    decidedBy: str | None
    createdAt: str | None
    decidedAt: str | None
    # pending: to be decided by then; approved: to be used
    expiresAt: str | None


class ApprovalDecision(TypedDict):
    """What to tell"""

    # for who asked
    note: NotRequired[str]


class SkillList(TypedDict):
    """Skills by name"""

    items: list[Skill]


class Skill(TypedDict):
    """A skill that the project keeps"""

    name: str
    description: str
    # how many
    files: int
    # bytes
    size: int
    updatedAt: str | None


class SkillPut(TypedDict):
    """A skill"""

    # when to use it
    description: NotRequired[str]
    # one of them SKILL.md; 2 MiB in all
    files: list[SkillFile]


class SkillFile(TypedDict):
    """A file of a skill"""

    # below the skill's folder
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
    """Whether the server works"""

    status: str
    version: str


class Readiness(TypedDict):
    """Whether a sandbox can be made now; 503 when not, with the reason and the cure"""

    # ready, not_ready or draining
    status: str
    version: str
    provider: str
    checked_at: NotRequired[str | None]
    checks: list[ReadinessCheck]
    # what does not keep sandboxes from being made, such as a host without a default route
    warnings: NotRequired[list[ReadinessFailure]]
    error: NotRequired[ReadinessFailure]


class ReadinessCheck(TypedDict):
    """One check of a round"""

    # what was tried
    name: str
    ok: bool
    # milliseconds
    took_ms: float
    # stable, for machines
    code: NotRequired[str]
    reason: NotRequired[str]
    cure: NotRequired[str]


class ReadinessFailure(TypedDict):
    """What is wrong, in the form of every error"""

    # of the first check that failed
    code: str
    # the reason
    message: str
    # the cure
    hint: str


# Whose sandbox, and what it is like should it have to be made
LeaseAcquire = TypedDict("LeaseAcquire", {
    "key": "str",
    "template": "NotRequired[str]",
    "env": "NotRequired[dict[str, str]]",
    "labels": "NotRequired[dict[str, str]]",
    "resources": "NotRequired[ResourcesRequest]",
    "internet": "NotRequired[bool]",
    "persistent": "NotRequired[bool]",
    "continue": "NotRequired[bool]",
    "wait_ms": "NotRequired[int]",
    "idempotency_key": "NotRequired[str]",
    "persistentHome": "NotRequired[str]",
    "persistentDiskGb": "NotRequired[int]",
    "update": "NotRequired[bool]",
})


class LeaseAcquired(TypedDict):
    """A key and its sandbox, which takes commands"""

    key: str
    # the same as key
    username: str
    # null while it has none
    sandbox_id: str | None
    # ready, creating, or empty: its sandbox has gone, and the next acquire makes another one
    status: str
    # its sandbox does not run; acquire wakes it
    paused: bool
    # provider
    type: str | None
    # the server that has the sandbox, and works on it
    node: str | None
    # whose files it has
    run: str | None
    # grows with every change
    lock_version: int
    # that its sandboxes were active; paused or stopped time is free
    total_usage_seconds: int
    last_activity_at: str | None
    created_at: str | None
    # not idle before
    keep_until: str | None
    # this call has made the sandbox
    created: bool
    # this call has given it the files of a new one
    reset: bool


class LeaseList(TypedDict):
    """One page of leases"""

    items: list[Lease]
    next_page: str | None


class Lease(TypedDict):
    """A key and its sandbox"""

    key: str
    # the same as key
    username: str
    # null while it has none
    sandbox_id: str | None
    # ready, creating, or empty: its sandbox has gone, and the next acquire makes another one
    status: str
    # its sandbox does not run; acquire wakes it
    paused: bool
    # provider
    type: str | None
    # the server that has the sandbox, and works on it
    node: str | None
    # whose files it has
    run: str | None
    # grows with every change
    lock_version: int
    # that its sandboxes were active; paused or stopped time is free
    total_usage_seconds: int
    last_activity_at: str | None
    created_at: str | None
    # not idle before
    keep_until: str | None
    # what its sandbox is made like, each time; its environment is kept with it, and not told. null: of before leases kept it
    specification: Any


class LeasesDeleted(TypedDict):
    """How many there were"""

    deleted: int


class LeaseKeepAlive(TypedDict):
    """For how long"""

    # not idle for so long; 0 = as after any other use
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

    # id or e-mail address, compared as it is
    user: str
    # viewer, member or admin
    role: str


class MemberChange(TypedDict):
    """A member's new role"""

    # viewer, member or admin
    role: str


class Settings(TypedDict):
    """What holds in the project"""

    # a sandbox is paused after so long without use; -1 = never; 0 = the platform's
    idle_pause_seconds: int
    # a sandbox is stopped after so long without use; -1 = never; 0 = the platform's
    idle_stop_seconds: int
    # an ephemeral sandbox is removed after so long without use; 0 = the platform's
    idle_reap_seconds: int
    # an ephemeral sandbox is removed at this age, a persistent one stopped so long after its last start; 0 = the platform's
    lifetime_max_seconds: int
    # a terminal without a byte for so long is closed; 0 = the platform's
    terminal_ttl_seconds: int
    # MiB of artifacts that are kept; 0 = the platform's
    artifacts_max_mb: int
    # an artifact is removed after so long; 0 = the platform's
    artifacts_keep_seconds: int
    # keep what every new window of a terminal shows, as a recording
    record_terminals: bool
    # of new templates: what the server's provider gives
    default_isolation: str
    # where volumes and backups lie: local
    default_storage_provider: str


class SettingsPut(TypedDict):
    """What is given replaces what was"""

    # a sandbox is paused after so long without use; -1 = never; 0 = the platform's
    idle_pause_seconds: NotRequired[int]
    # a sandbox is stopped after so long without use; -1 = never; 0 = the platform's
    idle_stop_seconds: NotRequired[int]
    # an ephemeral sandbox is removed after so long without use; 0 = the platform's
    idle_reap_seconds: NotRequired[int]
    # an ephemeral sandbox is removed at this age, a persistent one stopped so long after its last start; 0 = the platform's
    lifetime_max_seconds: NotRequired[int]
    # a terminal without a byte for so long is closed; 0 = the platform's
    terminal_ttl_seconds: NotRequired[int]
    # MiB of artifacts that are kept; 0 = the platform's
    artifacts_max_mb: NotRequired[int]
    # an artifact is removed after so long; 0 = the platform's
    artifacts_keep_seconds: NotRequired[int]
    # keep what every new window of a terminal shows, as a recording
    record_terminals: NotRequired[bool]
    # of new templates: what the server's provider gives
    default_isolation: NotRequired[str]
    # where volumes and backups lie: local
    default_storage_provider: NotRequired[str]


class ResourceConfig(TypedDict):
    """Default and greatest limits of the project's sandboxes"""

    # what the project sets
    defaults: Limits
    # that no sandbox of the project exceeds; 0 = the caps alone
    maximums: Limits
    # what holds where the project sets nothing
    platform: Limits
    # that nothing may exceed
    caps: Limits
    # of a sandbox that asks for nothing
    effective: Limits


class ResourceConfigPut(TypedDict):
    """The project's default limits; what is left out is not set"""

    # only by an admin of the platform; left as they are when absent
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
    """What sandboxes are made like"""

    # false = no network at all
    internet: NotRequired[bool]
    # environment of every command; answered with ******** for each value, which, sent back, leaves it as it is
    envVars: NotRequired[dict[str, str]]
    # lambda, e2b, daytona, kubernetes, native …; else the server's
    provider: NotRequired[str]
    # name or id; else the server's default
    template: NotRequired[str]
    # edit, ask or bypass: for the tools that act by this config
    permissionMode: NotRequired[str]
    # bash, python, node: what tools and commands may use; advisory
    runtimes: NotRequired[list[str]]
    # seconds that a command, a block of code, a job or a tool may take, at most 300 on lambda and 600 elsewhere
    timeout: NotRequired[int]
    # MB, at most 1024 on lambda; a request for more gets so much
    memoryLimit: NotRequired[int]
    # of a result: of a tool's output, and of each stream of a command
    outputLimitBytes: NotRequired[int]
    # kept between calls; not on lambda
    persistent: NotRequired[bool]
    resources: NotRequired[SandboxConfigResources]
    lifecycle: NotRequired[SandboxConfigLifecycle]
    options: NotRequired[SandboxConfigOptions]


class SandboxConfigResources(TypedDict):
    """Limits beside memoryLimit; 0 = inherited"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    diskMb: NotRequired[int]
    pids: NotRequired[int]


class SandboxConfigLifecycle(TypedDict):
    """When it ends by itself"""

    # stopped, or removed when it is not persistent, after so long without use
    idleTimeoutSeconds: NotRequired[int]
    # ended at this age
    maxLifetimeSeconds: NotRequired[int]


class SandboxConfigOptions(TypedDict):
    """Of a persistent one, where the provider can"""

    mountAwsS3Buckets: NotRequired[bool]
    workspaceRoot: NotRequired[str]
    # GiB that the home can hold, when it is made (default: no limit)
    persistentDiskGb: NotRequired[int]
    # where a volume is that outlives the sandbox, for packages and caches; /home/user when only persistentDiskGb is given
    persistentHome: NotRequired[str]


class SandboxConfigCreate(TypedDict):
    """A config to keep"""

    name: str
    config: NotRequired[SandboxConfig]


class SandboxConfigChange(TypedDict):
    """What is given replaces what was; a config as a whole"""

    name: NotRequired[str]
    config: NotRequired[SandboxConfig]


class Me(TypedDict):
    """The caller"""

    # that it acts in
    project: str
    project_name: str
    # id of the key
    key: str
    key_name: str
    # what it may do now
    scopes: list[str]
    # the member whom the key belongs to
    user: str | None
    # his role now
    role: str | None
    expires_at: str | None


class EventList(TypedDict):
    """Events, oldest first"""

    items: list[Event]
    # for the next page, or for a stream
    after: int
    # of all that are kept; 0 = there are none
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


class WebhookCreate(TypedDict):
    """A webhook to make"""

    # http or https, on the internet
    url: str
    # kinds such as sandbox.started, or sandbox.*; else all
    events: NotRequired[list[str]]
    # signs what is sent; else made here
    secret: NotRequired[str]
    # default true
    enabled: NotRequired[bool]


class WebhookMade(TypedDict):
    """A new webhook, with its secret"""

    id: str
    url: str
    events: list[str]
    enabled: bool
    # why the server has disabled it
    problem: str | None
    # deliveries still to be made
    waiting: int
    # deliveries given up
    dead: int
    created_at: str | None
    updated_at: str | None
    # told only now
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
    # why the server has disabled it
    problem: str | None
    # deliveries still to be made
    waiting: int
    # deliveries given up
    dead: int
    created_at: str | None
    updated_at: str | None


class WebhookChange(TypedDict):
    """What is given replaces what was; enabled again, it begins with what comes then"""

    # http or https, on the internet
    url: NotRequired[str]
    # kinds such as sandbox.started, or sandbox.*; else all
    events: NotRequired[list[str]]
    # signs what is sent; else made here
    secret: NotRequired[str]
    # default true
    enabled: NotRequired[bool]


class DeliveryList(TypedDict):
    """Deliveries, newest first"""

    items: list[Delivery]


class Delivery(TypedDict):
    """An event on its way to a webhook"""

    # the header Atoll-Delivery
    id: str
    # of its event
    sequence: int
    kind: str
    # waiting, delivered or dead
    state: str
    attempts: int
    # of the last answer; 0 = none came
    status: int
    error: str | None
    created_at: str | None
    next_at: str | None
    ended_at: str | None
    # the body that is sent
    event: Any


class JobList(TypedDict):
    """Background jobs, newest first"""

    items: list[JobItem]


class JobItem(TypedDict):
    """A background job, without its logs"""

    resultId: str
    # running, completed, failed or stopped
    status: str
    # -1 while it runs, and when nobody knows
    exitCode: int
    # why it has not completed
    reason: str | None
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); of a job also lost: its process is not there. null while it runs
    cause: str | None
    sandbox_id: str
    command: str
    conversation: str | None
    origin: Any
    # its number in the sandbox
    process: int
    # in all, once it has ended
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
    # -1 while it runs, and when nobody knows
    exitCode: int
    # why it has not completed
    reason: str | None
    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); of a job also lost: its process is not there. null while it runs
    cause: str | None
    sandbox_id: str
    command: str
    conversation: str | None
    origin: Any
    # its number in the sandbox
    process: int
    # in all, once it has ended
    stdout_bytes: int
    stderr_bytes: int
    created_at: str | None
    ended_at: str | None
    duration_ms: int
    # once it has ended: the ends of stdout and stderr
    logs: NotRequired[Any]
    # once it has ended: files that it left, and that are kept
    artifacts: NotRequired[list[StoredArtifact]]


class JobLogs(TypedDict):
    """What a background job wrote"""

    resultId: str
    status: str
    stdout: str
    stderr: str
    # of its first byte
    stdout_offset: int
    stderr_offset: int
    # since_stdout of the next call
    stdout_next: int
    stderr_next: int
    # written in all
    stdout_bytes: int
    stderr_bytes: int


class JobComplete(TypedDict):
    """How a background job has ended"""

    # why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran)
    cause: NotRequired[Literal["exit", "signal", "timeout", "oom", "file_size", "disk", "process_limit", "canceled", "sandbox_ended"]]
    status: Literal["completed", "failed"]
    exitCode: NotRequired[int]
    signal: NotRequired[int]
    durationMs: NotRequired[int]
    timedOut: NotRequired[bool]
    # its end, or as bytes:
    output: NotRequired[str]
    stdoutBase64: NotRequired[str]
    stderrBase64: NotRequired[str]


class ChannelList(TypedDict):
    """Channels by name"""

    items: list[Channel]


class Channel(TypedDict):
    """A channel, without its token"""

    name: str
    type: str
    base_url: str | None
    created_at: str | None
    updated_at: str | None


class ChannelPut(TypedDict):
    """What messages are sent with"""

    type: Literal["slack", "discord", "telegram", "github", "zalo", "pancake"]
    # of a bot, an app, an official account or a page
    token: str
    # of a service of one's own; else the usual one
    base_url: NotRequired[str]


class JobDeliveryList(TypedDict):
    """Newest jobs first"""

    items: list[JobDelivery]


class JobDelivery(TypedDict):
    """A message about a job's end"""

    resultId: str
    channel: str
    # waiting, sending, delivered or dead
    state: str
    attempts: int
    # of the last answer; 0 = none came
    status: int
    error: str | None
    # of the job
    ended_at: str | None
    next_at: str | None


# One page of sums
Usage = TypedDict("Usage", {
    "from": "str | None",
    "to": "str | None",
    "group_by": "str",
    "items": "list[UsageSum]",
    "next_page": "str | None",
})


class UsageSum(TypedDict):
    """What one of a group used"""

    # id, label, reason or day
    group: str
    # that sandboxes were started
    seconds: float
    # of a processor, as sampled
    cpu_seconds: float
    # of the vCPUs they could use
    vcpu_seconds: float
    # of their memory limits
    memory_gib_seconds: float
    # of files that are kept; 730 hours to the month
    storage_gib_months: float
    # US dollars
    usd: float
    # the same in micro-dollars, exactly
    usd_micro: int


class Balance(TypedDict):
    """What a project has left"""

    project: str
    deposited_usd: float
    spent_usd: float
    # below 0: more was spent
    balance_usd: float
    # the same in micro-dollars, exactly
    balance_usd_micro: int


class DepositCreate(TypedDict):
    """A deposit to book"""

    # yours: the same id is booked once
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
    """What may be spent, and what is"""

    id: str
    scope: Literal["project", "key", "sandbox"]
    # id of the project, key or sandbox
    subject: str
    window: Literal["total", "day", "month"]
    limit_usd: float
    warn_at: float
    # in this window
    spent_usd: float
    # fine, warned or exceeded
    level: str
    # when the window began
    since: str | None
    created_at: str | None


class BudgetCreate(TypedDict):
    """What may be spent"""

    # whose spending (default project)
    scope: NotRequired[Literal["project", "key", "sandbox"]]
    # of UTC; total never begins anew (default month)
    window: NotRequired[Literal["total", "day", "month"]]
    # part of the limit that is warned of (default 0.8)
    warn_at: NotRequired[float]
    # id of the key; id or name of the sandbox
    subject: NotRequired[str]
    # US dollars
    limit_usd: float


class BudgetUpdate(TypedDict):
    """What changes of a budget"""

    # US dollars
    limit_usd: NotRequired[float]
    # part of the limit that is warned of
    warn_at: NotRequired[float]


class PoolList(TypedDict):
    """Pools"""

    items: list[Pool]


class Pool(TypedDict):
    """Sandboxes that are prepared"""

    # ready, filling (fewer than min are prepared) or failing
    state: str
    # of one that is failing
    problem: NotRequired[PoolProblem]
    template: str
    # null: an automatic one, of the template's folder
    template_id: str | None
    # it follows what is asked for
    automatic: bool
    # held even when nobody asks
    min: int
    # held while it is used
    target: int
    # that misses let it grow to
    max: int
    # prepared now
    ready: int
    preparing: int
    # creates that got one; since the broker's start
    hits: int
    # creates that found none
    misses: int
    # hits / (hits + misses), over the same time; 0 before the first create
    hit_ratio: float
    # layers of the snapshot that it is for, 0 = none
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
    # the cure
    hint: str


class VolumeList(TypedDict):
    """Volumes by name"""

    items: list[Volume]


class Volume(TypedDict):
    """Storage that outlives sandboxes"""

    id: str
    name: str
    project: str
    provider: str
    # server whose disk it is on
    node: str
    # making ready deleting
    state: str
    # MiB
    size_mb: int
    # nothing enforces size_mb
    size_advisory: bool
    created_at: str | None
    updated_at: str | None
    # sandboxes that have it, stopped ones included
    attachments: list[VolumeMount]


class VolumeMount(TypedDict):
    """A volume in a sandbox"""

    # its name
    volume: str
    volume_id: str
    # its name
    sandbox: str
    sandbox_id: str
    sandbox_state: str
    # where it is inside
    path: str
    # the folder of it that is there; all of it without
    subpath: NotRequired[str]
    read_only: bool
    attached_at: str | None


class VolumeCreate(TypedDict):
    """A volume to make"""

    # unique in the project
    name: str
    # MiB that it can hold (default: no limit)
    size_mb: NotRequired[int]


class VolumeUsage(TypedDict):
    """A volume and what is used of it"""

    id: str
    name: str
    project: str
    provider: str
    # server whose disk it is on
    node: str
    # making ready deleting
    state: str
    # MiB
    size_mb: int
    # nothing enforces size_mb
    size_advisory: bool
    created_at: str | None
    updated_at: str | None
    # sandboxes that have it, stopped ones included
    attachments: list[VolumeMount]
    # -1 = too many files to count
    used_bytes: int


class VolumeGrow(TypedDict):
    """What a volume is to hold"""

    # MiB, not less than it has
    size_mb: int


class VolumeMountList(TypedDict):
    """The volumes of a sandbox"""

    items: list[VolumeMount]


class VolumeAttach(TypedDict):
    """Which volume, and where"""

    # name or id
    volume: str
    # absolute (default /workspace)
    path: NotRequired[str]
    # any number of sandboxes may read it
    read_only: NotRequired[bool]
    # a folder of it, made when it is missing (default all of it)
    subpath: NotRequired[str]


class ChangeList(TypedDict):
    """One page of changes, by path; a folder before what it holds"""

    items: list[Change]
    # id of a snapshot, or "template"
    base: str
    next_page: str | None


class Change(TypedDict):
    """A path that is not as it was"""

    # from the root, without '/' in front
    path: str
    # base64 when the path is not UTF-8
    path_encoding: NotRequired[str]
    # added deleted modified; mode: its mode or owner alone; type: it is another type of file now
    kind: str
    # file dir link fifo socket device; null: it is not there
    type: str | None
    type_before: str | None
    # bytes of a file
    size: int
    size_before: int
    # octal
    mode: str | None
    mode_before: str | None
    uid: int
    gid: int
    uid_before: int
    gid_before: int
    # a link's target
    link: NotRequired[str]
    link_before: NotRequired[str]
    # a folder that is too deep down to list what it holds
    truncated: NotRequired[bool]
    # of diff: a patch as git writes them
    diff: NotRequired[str]
    lines_added: NotRequired[int]
    lines_deleted: NotRequired[int]
    # no text, or too large to be compared by lines
    binary: NotRequired[bool]
    # base64 when the diff is not UTF-8
    diff_encoding: NotRequired[str]


class Revert(TypedDict):
    """What is to be as it was"""

    # files, or folders with all in them; "/" is everything
    paths: list[str]
    # base64: the paths are that, each one
    encoding: NotRequired[Literal["text", "base64"]]
    # a snapshot by name or id, or "template" (the default)
    base: NotRequired[str]


class RevertResult(TypedDict):
    """What became of each path, in the order of the request"""

    items: list[Reverted]


class Reverted(TypedDict):
    """What became of one path"""

    # as in the request
    path: str
    # it is as it was in the base
    ok: bool
    # files and folders put back
    restored: int
    # files and folders taken away
    removed: int
    # a code
    error: NotRequired[str]
    message: NotRequired[str]
    hint: NotRequired[str]


class WindowList(TypedDict):
    """Windows, oldest first"""

    items: list[Window]


class Window(TypedDict):
    """A named terminal"""

    name: str
    # its number in this sandbox
    process: int
    # inside the sandbox
    pid: int
    rows: int
    cols: int
    # something runs in the foreground
    busy: bool
    # …/run works there
    shell: bool
    # connections that are attached
    viewers: int
    # closes after so long at rest
    ttl_s: int
    # since the last input or output
    quiet_ms: int
    # first offset that is kept
    output_start: int
    # bytes written so far
    output_end: int
    started_at: str | None
    user: str
    # that it began in
    cwd: str


class WindowChange(TypedDict):
    """What is to be otherwise"""

    rows: NotRequired[int]
    cols: NotRequired[int]
    ttl_s: NotRequired[int]


class ViewerList(TypedDict):
    """Viewers, first come first"""

    items: list[Viewer]


class Viewer(TypedDict):
    """Who looks at a window by WebSocket"""

    # its number on this server
    viewer: int
    # its user, or its key
    who: str
    # address that it comes from
    peer: str
    # false: it only looks
    writes: bool
    attached_at: str | None
    # last, to two seconds; null = never
    typed_at: str | None


class Screen(TypedDict):
    """What a window shows"""

    # why waiting ended: found, changed, quiet, timeout, ended; none when there was nothing to wait for
    reason: str
    # lines without blanks at their end, or what draws it anew
    text: str | None
    # of the form cells
    lines: list[ScreenLine]
    rows: int
    cols: int
    # from 0
    cursor_row: int
    # from 0
    cursor_column: int
    cursor_visible: bool
    # the screen of a full-screen program, not the shell's
    alternate: bool
    title: str
    # output up to here is on it
    offset: int
    # bytes at the beginning of the output that are no longer kept: what they drew may be missing
    missing: int


class ScreenLine(TypedDict):
    """A line of a screen"""

    runs: list[ScreenRun]


class ScreenRun(TypedDict):
    """Characters that look the same"""

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
    """What to type, and what to wait for"""

    # typed as it is
    text: NotRequired[str]
    # as one paste, where the program knows of pastes
    paste: NotRequired[str]
    # after them: C-c, M-x, S-Tab, Up, Enter, Escape, F5, …; what is no key is typed
    keys: NotRequired[list[str]]
    # wait until the screen has it; of several conditions the first ends the wait, and after typing only what follows counts
    wait_text: NotRequired[str]
    # the same, POSIX extended, within a line
    wait_regex: NotRequired[str]
    # until anything on the screen changes
    wait_change: NotRequired[bool]
    # until there was no output for so long
    quiet_ms: NotRequired[int]
    # at most; default 10000
    wait_ms: NotRequired[int]
    # of the screen
    form: NotRequired[Literal["text", "ansi", "cells"]]


class WindowRun(TypedDict):
    """A command for a window"""

    # what runs there already is cancelled first; without one it is waited for
    command: NotRequired[str]
    # refuse (409) rather than cancel
    keep: NotRequired[bool]
    # then it is left running; default 30000
    wait_ms: NotRequired[int]
    # of its end; default 65536
    outputLimitBytes: NotRequired[int]
    # of a window that is made for it
    cwd: NotRequired[str]
    # the same
    user: NotRequired[str]
    # the same
    env: NotRequired[dict[str, str]]


class WindowResult(TypedDict):
    """What a command in a window did"""

    window: str
    process: int
    # it goes on
    running: bool
    # -1 while it runs
    exit_code: int
    # without what moves and colours
    output: str
    # where its output begins in that of the process
    since: int
    end: int
    # bytes before `output`
    dropped: int
    # what ran there was ended for it
    cancelled: bool
    # the window has ended with it
    closed: bool


class CodeContextList(TypedDict):
    """Contexts, oldest first"""

    items: list[CodeContext]


class CodeContext(TypedDict):
    """An interpreter that keeps its state from one block of code to the next"""

    id: str
    # python, javascript or bash
    language: str
    # that it began in
    cwd: str
    user: str
    # ready, or ended: what it knew is gone until it is restarted
    state: str
    # its number in this sandbox
    process: int
    # of an ended one; else -1
    exit_code: int
    # or restarted
    created_at: str | None


class CodeContextCreate(TypedDict):
    """A new context"""

    # python (else), javascript or bash
    language: NotRequired[str]
    # folder to begin in; relative ones are below the default
    cwd: NotRequired[str]


class RecordingList(TypedDict):
    """Recordings that are whole, by sandbox, then by time"""

    items: list[Recording]


class Recording(TypedDict):
    """What a window showed"""

    id: str
    # which may be gone
    sandbox_id: str
    # that the window was
    process: int
    size_bytes: int
    started_at: str | None


class ServiceList(TypedDict):
    """Services, by name"""

    items: list[Service]


class Service(TypedDict):
    """A command that is kept running"""

    name: str
    # starting, running, backoff (it will be started again), stopping, stopped (as asked), exited (by itself), failed; down or paused as its sandbox is; unknown
    state: str
    # false: somebody stopped it
    wanted: bool
    # inside the sandbox; 0 = none
    pid: int
    # its number in the sandbox
    process: int
    # by itself, since it was started or changed
    restarts: int
    # quick ends in a row
    failures: int
    # of the last run that ended; -1 = none has
    exit_code: int
    # that ended it, or 0
    signal: int
    # why it could not be started
    error: str | None
    # in backoff
    restart_in_ms: int
    # its last run
    started_at: str | None
    # the last run that ended
    ended_at: str | None
    command: str | None
    # else: program and arguments
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
    """A service: command, or cmd with args"""

    # a line for a shell, or:
    command: NotRequired[str]
    # a program
    cmd: NotRequired[str]
    # its arguments
    args: NotRequired[list[str]]
    cwd: NotRequired[str]
    # name or number inside
    user: NotRequired[str]
    # over the sandbox's; never shown again
    env: NotRequired[dict[str, str]]
    # when it is started again; default always
    restart: NotRequired[Literal["always", "on-failure", "no"]]
    # quick ends in a row, then it has failed; 0 = it is tried for ever
    restart_limit: NotRequired[int]
    # before the first restart, doubled up to a minute; default 500
    restart_delay_ms: NotRequired[int]
    # from SIGTERM to SIGKILL; default 5000
    stop_timeout_ms: NotRequired[int]
    # while it runs the sandbox is not idle
    keep_awake: NotRequired[bool]


class ServiceLog(TypedDict):
    """What a service wrote"""

    name: str
    stdout: str
    stderr: str
    # of its first byte; what is before it is lost, or was not wanted
    stdout_offset: int
    stderr_offset: int
    # since_stdout of the next call
    stdout_next: int
    stderr_next: int
    # written in all, over its runs since the sandbox was started
    stdout_bytes: int
    stderr_bytes: int


class SandboxResize(TypedDict):
    """Other limits; what is left out or 0 stays as it is"""

    # vCPUs
    cpu: NotRequired[float]
    # MiB
    memory_mb: NotRequired[int]
    # MiB; more of it, while it is stopped
    disk_mb: NotRequired[int]
    # processes and threads
    pids: NotRequired[int]


class SandboxEnvironment(TypedDict):
    """A change of its own variables; those of its template stay"""

    # variables to add or to replace
    set: NotRequired[dict[str, str]]
    # names that go, before that
    unset: NotRequired[list[str]]


class TrashList(TypedDict):
    """What can be brought back"""

    items: list[TrashItem]


class TrashItem(TypedDict):
    """Something that can be brought back"""

    # sandbox snapshot layer
    kind: str
    id: str
    name: NotRequired[str]
    project: NotRequired[str]
    # deleted: by a call; orphan: no row of the store knew it
    reason: str
    # when it goes for good
    until: str | None
    # -1 = not counted yet
    size_bytes: int


class StoppedAll(TypedDict):
    """How many were stopped"""

    stopped: int
    # they run still: ask again
    left: int


# A template by steps
BuildCreate = TypedDict("BuildCreate", {
    "internet": "NotRequired[bool]",
    "name": "str",
    "also": "NotRequired[list[str]]",
    "from": "str",
    "image": "NotRequired[str]",
    "login": "NotRequired[RegistryLogin]",
    "description": "NotRequired[str]",
    "steps": "NotRequired[list[BuildStep]]",
    "start": "NotRequired[str]",
    "entrypoint": "NotRequired[list[str]]",
    "ready": "NotRequired[str]",
    "ready_timeout_ms": "NotRequired[int]",
    "timeout_ms": "NotRequired[int]",
    "resources": "NotRequired[BuildResources]",
    "ports": "NotRequired[Any]",
    "no_cache": "NotRequired[bool]",
})


class BuildStep(TypedDict):
    """One step of a build"""

    type: Literal["run", "copy", "env", "workdir", "user"]
    # run: for /bin/sh -c; either this or args
    command: NotRequired[str]
    # run: a program and its arguments, without a shell
    args: NotRequired[list[str]]
    # env: of what follows and of the template; run: of this command alone
    env: NotRequired[dict[str, str]]
    # copy: the name under which the files were put, see PUT …/builds/files/HASH
    files: NotRequired[str]
    # copy: the folder that the files go to; workdir: the folder; made if missing
    path: NotRequired[str]
    # user: of what follows and of the template; run: of this command; copy: whom the files belong to (default root)
    user: NotRequired[str]
    # copy: of the files, octal; else as they were put
    mode: NotRequired[str]
    # run: default as long as the build may take
    timeout_ms: NotRequired[int]
    # execute this one and all after it, even if cached
    force: NotRequired[bool]


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


# A template that is being made by steps, or was
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
    # what to give as since to go on
    next: int
    # of the build
    status: str


class BuildFiles(TypedDict):
    """Files that a copy step can name; they go a day after they were last used"""

    hash: str
    present: bool
    # of the tar, unpacked
    size_bytes: int


class Preview(TypedDict):
    """What of it may be seen from outside"""

    enabled: bool
    # links may be given to people without a key
    public: bool
    # the server's and the template's, or any
    ports: str
    # the server has a SANDBOX_PREVIEW_SECRET
    sharingEnabled: bool
    # false: its network is blocked
    reachable: bool
    # previews are at PORT-ID.DOMAIN, too
    domain: str | None


class PreviewChange(TypedDict):
    """What of it may be seen from now on"""

    enabled: NotRequired[bool]
    public: NotRequired[bool]
    # all links that were given out end
    rotate: NotRequired[bool]


class PreviewLink(TypedDict):
    """A link to a port"""

    port: int
    # default a day, of a private link an hour
    ttlSeconds: NotRequired[int]
    # for the caller's own browser: needs neither a secret nor a public preview, ends with the server
    private: NotRequired[bool]


class PreviewLinkMade(TypedDict):
    """The link"""

    token: str
    # on this server
    path: str
    url: str
    # in an origin of its own, where the server has a domain
    hostUrl: str | None
    port: int
    private: bool
    expiresAt: str | None


class DaytonaCreate(TypedDict):
    """What to make"""

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
    language: Literal["python", "javascript", "typescript", "bash"]
    argv: list[str] | None
    envs: dict[str, str] | None


class DaytonaReplace(TypedDict):
    """What to replace"""

    files: list[str]
    pattern: str
    newValue: str


class DaytonaDownload(TypedDict):
    """Files to read"""

    paths: list[str]


class DaytonaResize(TypedDict):
    """Other limits"""

    cpu: float | None
    memory: float | None
    disk: float | None


class DaytonaEnv(TypedDict):
    """Other variables"""

    set: dict[str, str] | None
    unset: list[str] | None
    unsetValuePrefix: str | None


class DaytonaSnapshotTake(TypedDict):
    """How to take one"""

    name: str
    includeMemory: bool | None


class DaytonaFork(TypedDict):
    """A fork to make"""

    name: str | None


class DaytonaSnapshotCreate(TypedDict):
    """A snapshot to make of an image"""

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
    """A document of its project"""

    languageId: str
    pathToProject: str
    uri: str


class DaytonaLspCompletion(TypedDict):
    """A place in a document"""

    languageId: str
    pathToProject: str
    uri: str
    position: Any
    context: Any


class DaytonaNetwork(TypedDict):
    """DaytonaNetwork"""

    networkBlockAll: bool | None
    networkAllowList: str | None
    domainAllowList: str | None


class DaytonaWarmPoolCreate(TypedDict):
    """What to prepare"""

    snapshot: str
    target: str | None
    pool: int


class DaytonaWarmPool(TypedDict):
    """Sandboxes that are prepared"""

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
    """Another size"""

    pool: int


class DaytonaVolumeCreate(TypedDict):
    """A volume to make"""

    name: str


class DaytonaSecretCreate(TypedDict):
    """A secret to keep"""

    name: str
    value: str
    description: str
    hosts: list[str]


class DaytonaSecretChange(TypedDict):
    """What is given replaces"""

    value: str
    description: str
    hosts: list[str]


class E2bNewSandbox(TypedDict):
    """What to make"""

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
    """Whether traffic wakes it"""

    enabled: bool


class E2bNetwork(TypedDict):
    """Who may be reached from inside, and what from outside"""

    allowOut: NotRequired[list[str]]
    denyOut: NotRequired[list[str]]
    maskRequestHost: NotRequired[str]
    egressProxy: NotRequired[Any]
    rules: NotRequired[Any]
    httpsPorts: NotRequired[Any]
    allowPublicTraffic: NotRequired[bool]
    allow_internet_access: NotRequired[bool]


class E2bVolumeMount(TypedDict):
    """A volume, and where it is"""

    name: str
    path: str


class E2bWake(TypedDict):
    """Seconds from now, and whether its processes go on"""

    timeout: int
    memory: bool


class E2bTimeout(TypedDict):
    """Seconds from now"""

    timeout: int


class E2bRefresh(TypedDict):
    """Seconds from now"""

    duration: int


class E2bPause(TypedDict):
    """How to pause"""

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
    """For standard input"""

    data: str


class DaytonaPtyCreate(TypedDict):
    """A terminal to open"""

    id: str
    cwd: str
    cols: int
    rows: int
    envs: dict[str, str] | None


class DaytonaPtyResize(TypedDict):
    """A size"""

    cols: int
    rows: int


class E2bSnapshotCreate(TypedDict):
    """Its name"""

    name: str


class E2bFork(TypedDict):
    """How many, and for how long"""

    timeout: int
    count: int


class E2bNewVolume(TypedDict):
    """A volume to make"""

    name: str


class E2bAttributes(TypedDict):
    """Whose a file is, and its mode"""

    uid: int
    gid: int
    mode: int


class E2bNewSecret(TypedDict):
    """A secret to keep"""

    name: str
    value: str
    metadata: dict[str, str]


class E2bSecretUpdate(TypedDict):
    """Another value"""

    value: str
    metadata: dict[str, str]


class E2bTemplateUpdate(TypedDict):
    """Whose it is"""

    public: bool


class E2bTagsAssign(TypedDict):
    """What is to have which tags"""

    target: str
    tags: list[str]


class E2bTagsRemove(TypedDict):
    """What is to lose which tags"""

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
    """A call of git"""

    path: str
    url: str
    branch: str | None
    commit_id: str | None
    username: str | None
    password: str | None
    depth: int | None
    insecure_skip_tls: bool | None


class DaytonaGitAdd(TypedDict):
    """A call of git"""

    path: str
    files: list[str] | None


class DaytonaGitCommit(TypedDict):
    """A call of git"""

    path: str
    message: str
    author: str | None
    email: str | None
    allow_empty: bool | None


class DaytonaGitBranch(TypedDict):
    """A call of git"""

    path: str
    name: str


class DaytonaGitCheckout(TypedDict):
    """A call of git"""

    path: str
    branch: str


class DaytonaGitExchange(TypedDict):
    """A call of git"""

    path: str
    remote: str | None
    branch: str | None
    username: str | None
    password: str | None
    set_upstream: bool | None


class DaytonaGitInit(TypedDict):
    """A call of git"""

    path: str
    initial_branch: str | None
    bare: bool | None


class DaytonaGitReset(TypedDict):
    """A call of git"""

    path: str
    mode: str | None
    target: str | None
    files: list[str] | None


class DaytonaGitRestore(TypedDict):
    """A call of git"""

    path: str
    source: str | None
    files: list[str] | None
    staged: bool | None
    worktree: bool | None


class DaytonaGitRemote(TypedDict):
    """A call of git"""

    path: str
    name: str
    url: str
    fetch: bool | None
    overwrite: bool | None


class DaytonaGitConfig(TypedDict):
    """A call of git"""

    path: str | None
    key: str
    value: str
    scope: str | None


class DaytonaGitUser(TypedDict):
    """A call of git"""

    path: str | None
    name: str
    email: str
    scope: str | None


class DaytonaGitLogin(TypedDict):
    """A call of git"""

    username: str
    password: str
    host: str | None
    protocol: str | None


class DaytonaContextCreate(TypedDict):
    """A context to make"""

    cwd: str | None
    language: str | None


class GitClone(TypedDict):
    """What to clone"""

    # https, http, ssh, git, file, or user@host:path
    url: str
    # where it is to be: nothing, or an empty folder
    path: str
    # or a tag
    branch: NotRequired[str]
    # to be checked out after it
    commit: NotRequired[str]
    # so many commits; 0 = all
    depth: NotRequired[int]
    # do not check certificates
    insecure: NotRequired[bool]
    # with a password; default git, as tokens want it
    username: NotRequired[str]
    # or a token: for this call and its server, kept nowhere
    password: NotRequired[str]


class GitStatus(TypedDict):
    """What has changed since the head"""

    # null when the head is detached
    branch: str | None
    # null before the first
    commit: str | None
    upstream: str | None
    # commits that the upstream has not
    ahead: int
    # commits that only the upstream has
    behind: int
    clean: bool
    files: list[GitFile]


class GitFile(TypedDict):
    """A file that has changed"""

    path: str
    # of a rename or copy
    old_path: str | None
    # unchanged modified type added deleted renamed copied unmerged untracked
    staged: str
    # the same
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
    """What to stage, deletions too"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    # as they are, no patterns; "." = all
    files: list[str]


class GitCommitRequest(TypedDict):
    """How to commit"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    message: str
    # name; default: as git is configured
    author: NotRequired[str]
    email: NotRequired[str]
    allow_empty: NotRequired[bool]


class GitHash(TypedDict):
    """The commit that was made"""

    hash: str


class GitBranches(TypedDict):
    """The local branches"""

    current: str | None
    branches: list[str]


class GitBranch(TypedDict):
    """A branch at the head"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    name: str
    # go over to it, too
    checkout: NotRequired[bool]


class GitCheckout(TypedDict):
    """Where to go"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    # branch, tag or commit
    name: str


class GitPush(TypedDict):
    """What to push, and where to"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    # default origin
    remote: NotRequired[str]
    # default: the one at hand
    branch: NotRequired[str]
    set_upstream: NotRequired[bool]
    # with a password; default git, as tokens want it
    username: NotRequired[str]
    # or a token: for this call and its server, kept nowhere
    password: NotRequired[str]


class GitPull(TypedDict):
    """What to pull and merge"""

    # of the repository; relative ones are below the default folder, which it is when left out
    path: NotRequired[str]
    # default origin
    remote: NotRequired[str]
    # default: the upstream of the one at hand
    branch: NotRequired[str]
    # with a password; default git, as tokens want it
    username: NotRequired[str]
    # or a token: for this call and its server, kept nowhere
    password: NotRequired[str]
