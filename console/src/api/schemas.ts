// SPDX-License-Identifier: Apache-2.0
// Written by console/generate/client.mjs --write from docs/api/openapi.json.
import type { Schema } from "./operation";

export const approvalDecisionSchema = {
  note: {"type":"string","description":"shown to the caller","maxLength":500},
} satisfies Schema;
export const artifactKeepSchema = {
  path: {"type":"string","description":"path of a file: absolute, or relative to the default folder","maxLength":4095,"minLength":1},
  user: {"type":"string","description":"user that reads the file (default: the template's user)","maxLength":64},
  keep_seconds: {"type":"integer","description":"lifetime of the artifact; 0: the project's setting","minimum":0,"maximum":316224000},
} satisfies Schema;
export const artifactUrlSchema = {
  expires_in_seconds: {"type":"integer","description":"lifetime of the address, at most seven days","minimum":1,"maximum":604800},
} satisfies Schema;
export const budgetCreateSchema = {
  scope: {"type":"string","description":"what the budget covers (default project)","enum":["project","key","sandbox","run","label","conversation"]},
  window: {"type":"string","description":"period in UTC; total never restarts (default month)","enum":["total","day","month"]},
  warn_at: {"type":"number","description":"fraction of the limit at which a warning is sent (default 0.8)","minimum":0,"maximum":1},
  subject: {"type":"string","description":"id of the key, name or id of the sandbox, run of the header Atoll-Run, NAME=VALUE of a label, or conversation of the header Atoll-Conversation or of tool calls","maxLength":385},
  limit_usd: {"type":"number","description":"US dollars","minimum":0,"maximum":1000000000},
} satisfies Schema;
export const budgetUpdateSchema = {
  limit_usd: {"type":"number","description":"US dollars","minimum":0,"maximum":1000000000},
  warn_at: {"type":"number","description":"fraction of the limit at which a warning is sent","minimum":0,"maximum":1},
} satisfies Schema;
export const buildCreateSchema = {
  internet: {"type":"boolean","description":"whether run steps reach it; default as of a sandbox"},
  name: {"type":"string","description":"of the template; one that was built on the same root filesystem is replaced","maxLength":63},
  also: {"type":"array","description":"further names for templates that are the same","maxItems":16},
  from: {"type":"string","description":"template, or one of the stages, to begin with","maxLength":128,"example":"base"},
  image: {"type":"string","description":"image of a registry instead of from, or from which a missing `from` is pulled","maxLength":512,"example":"docker.io/library/python:3.12"},
  login: {"type":"object","description":"at the registry of image"},
  description: {"type":"string","maxLength":1000},
  steps: {"type":"array","maxItems":200},
  stages: {"type":"array","description":"each may use those before it","maxItems":64},
  secrets: {"type":"object","description":"by id, for mounts of run steps; never stored","maxProperties":32},
  notes: {"type":"array","description":"lines for the log","maxItems":200},
  start: {"type":"string","description":"the entrypoint, for /bin/sh -c; it runs at each start of a sandbox","maxLength":16384},
  entrypoint: {"type":"array","description":"the same as a program and its arguments, without a shell","maxItems":64},
  ready: {"type":"string","description":"for /bin/sh -c: at the end of the build the entrypoint is started and this is tried until it succeeds","maxLength":16384,"example":"curl -sf http://127.0.0.1:8000/health"},
  ready_timeout_ms: {"type":"integer","description":"then the build fails (default 60000)","minimum":0,"maximum":86400000},
  timeout_ms: {"type":"integer","description":"of all of it, once it runs (default 3600000)","minimum":0,"maximum":86400000},
  resources: {"type":"object"},
  ports: {"description":"list of up to 64 numbers from 1 to 65535","example":[3000]},
  no_cache: {"type":"boolean","description":"execute every step"},
  pull: {"type":"boolean","description":"ask the registries whether the tags of images have other images by now, and pull those"},
} satisfies Schema;
export const buildMountSchema = {
  type: {"type":"string","enum":["cache","bind","secret","tmpfs"]},
  id: {"type":"string","description":"cache: its name among the project's caches; secret: which","maxLength":255},
  path: {"type":"string","description":"where the command finds it","maxLength":1024},
  from: {"type":"string","description":"bind: an earlier stage","maxLength":128},
  source: {"type":"string","description":"bind: a file or folder of that stage","maxLength":1024},
  files: {"type":"string","description":"bind: instead, as in a copy step","maxLength":64},
  file: {"type":"boolean","description":"bind: files has one file, whose name is the end of path"},
  env: {"type":"string","description":"secret: a variable that has it","maxLength":255},
  user: {"type":"string","description":"cache, secret: the owner (default root)","maxLength":64},
  mode: {"type":"string","description":"cache, secret: octal (default 0755, 0400)","maxLength":4},
  required: {"type":"boolean","description":"secret: the request fails without it"},
} satisfies Schema;
export const buildResourcesSchema = {
  cpu: {"type":"number","description":"vCPUs; 0 = inherited","minimum":0,"maximum":1024},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216},
  disk_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456},
  pids: {"type":"integer","description":"processes and threads","minimum":0,"maximum":4194304},
} satisfies Schema;
export const buildStageSchema = {
  name: {"type":"string","maxLength":128,"minLength":1},
  from: {"type":"string","description":"an earlier stage, or a template","maxLength":128},
  image: {"type":"string","description":"image of a registry instead of from, or from which a missing `from` is pulled","maxLength":512},
  steps: {"type":"array","maxItems":200},
} satisfies Schema;
export const buildStepSchema = {
  type: {"type":"string","enum":["run","copy","env","workdir","user","write","folder"]},
  command: {"type":"string","description":"run: for /bin/sh -c; either this or args","maxLength":65536,"example":"apt-get install -y nginx"},
  args: {"type":"array","description":"run: a program and its arguments, without a shell","maxItems":256},
  env: {"type":"object","description":"env: of what follows and of the template; ${PATH} in a value is the path so far; run: of this command alone","maxProperties":256},
  files: {"type":"string","description":"copy: the name under which the files were put, see PUT …/builds/files/HASH","maxLength":64},
  from: {"type":"string","description":"copy: instead, an earlier stage","maxLength":128},
  paths: {"type":"array","description":"copy: files and folders of that stage; * ? and [] match","maxItems":256},
  text: {"type":"string","description":"write: of the file","maxLength":1048576},
  mounts: {"type":"array","description":"run: while the command runs","maxItems":16},
  path: {"type":"string","description":"copy: the folder that the files go to, or the name of a single file of a stage; write: the file; workdir, folder: the folder; made if missing","maxLength":1024},
  user: {"type":"string","description":"user: of what follows and of the template; run: of this command; copy, write: whom the files belong to, USER or USER:GROUP (default root)","maxLength":64},
  mode: {"type":"string","description":"copy, write: of the files, octal; else as they were put","maxLength":4,"example":"0644"},
  timeout_ms: {"type":"integer","description":"run: default as long as the build may take","minimum":0,"maximum":86400000},
  force: {"type":"boolean","description":"execute this one and all after it, even if cached"},
} satisfies Schema;
export const channelPutSchema = {
  type: {"type":"string","enum":["slack","discord","telegram","github","zalo","pancake"]},
  token: {"type":"string","description":"token of a bot, an app, an official account or a page","maxLength":512},
  base_url: {"type":"string","description":"address of a self-hosted service (default: the public service)","maxLength":2048},
} satisfies Schema;
export const codeSchema = {
  language: {"type":"string","enum":["python","javascript","typescript","bash","r","java"]},
  code: {"type":"string","description":"at most 128 KiB","example":"print(6 * 7)"},
  contextId: {"type":"string","description":"context that runs the code and keeps its state; 'default': the default context of the language, created if missing","maxLength":40,"minLength":1},
  cwd: {"type":"string","description":"working directory; a relative path is below the default folder","maxLength":4096},
  env: {"type":"object","description":"environment variables; they override the sandbox's variables","maxProperties":256},
  user: {"type":"string","description":"name or number of the user (default: the template's user)","maxLength":64},
  stdin: {"type":"string","description":"text for its standard input"},
  stdin_base64: {"type":"string","description":"bytes for its standard input"},
  stdin_open: {"type":"boolean","description":"keep standard input open for POST …/processes/:process/stdin"},
  timeout_ms: {"type":"integer","description":"time limit; the command and all its processes are killed afterwards; 0: the server's default","minimum":0,"maximum":604800000},
  outputLimitBytes: {"type":"integer","description":"bytes that a collected result keeps of each stream","minimum":1,"maximum":16777216},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId to query the job by"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
  end_on_disconnect: {"type":"boolean","description":"kill the command when this connection breaks; by default the command continues"},
  tty: {"type":"boolean","description":"run on a terminal; all output is stdout"},
  rows: {"type":"integer","minimum":0,"maximum":10000},
  columns: {"type":"integer","minimum":0,"maximum":10000},
  artifacts: {"type":"string","description":"folder; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  record: {"type":"boolean","description":"record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings"},
  label: {"type":"string","description":"label shown in lists","maxLength":128},
} satisfies Schema;
export const codeContextCreateSchema = {
  language: {"type":"string","description":"one of: python, javascript, typescript, bash, r, java; python by default","maxLength":32,"minLength":1},
  cwd: {"type":"string","description":"working directory; a relative path is below the default folder","maxLength":4096},
} satisfies Schema;
export const connectCreateSchema = {
  name: {"type":"string","description":"of the credential to make","maxLength":63,"minLength":1,"example":"github"},
  preset: {"type":"string","description":"see /v1/credential-presets; or give an issuer","maxLength":64,"example":"github"},
  issuer: {"type":"string","description":"a service that publishes its metadata, such as a GitLab of your own; its addresses replace those of the preset","maxLength":2048,"example":"https://gitlab.example.com"},
  client: {"type":"string","description":"a credential of the kind 'client': the application that is registered at the service","maxLength":63,"minLength":1,"example":"github-app"},
  method: {"type":"string","description":"code: in a browser (default); device: with a code to type; client: the application itself","enum":["code","device","client"]},
  scopes: {"type":"array","description":"default: those of the preset","maxItems":64},
  hosts: {"type":"array","description":"hosts that may get the credential (default: the preset's)","maxItems":32},
  about: {"type":"string","description":"what it is for","maxLength":500},
  consent: {"type":"string","description":"as of a credential","enum":["conversation","sandbox","project"]},
  owner: {"type":"string","description":"as of a credential","enum":["project","user"]},
} satisfies Schema;
export const credentialChangeSchema = {
  about: {"type":"string","description":"what it is for; people and agents see it","maxLength":500},
  hosts: {"type":"array","description":"host names that may get it; \"*.example.com\" is every name below; default: those of the preset","maxItems":32,"example":["api.github.com"]},
  fields: {"type":"object","description":"its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any","maxProperties":8,"example":{"token":"…"}},
  consent: {"type":"string","description":"what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked","enum":["conversation","sandbox","project"]},
  expires_at: {"type":"string","description":"default: never","format":"date-time"},
  environment: {"type":"object","description":"for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default)","maxProperties":4,"example":{"PGPASSWORD":"password"}},
} satisfies Schema;
export const credentialCreateSchema = {
  about: {"type":"string","description":"what it is for; people and agents see it","maxLength":500},
  hosts: {"type":"array","description":"host names that may get it; \"*.example.com\" is every name below; default: those of the preset","maxItems":32,"example":["api.github.com"]},
  fields: {"type":"object","description":"its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any","maxProperties":8,"example":{"token":"…"}},
  consent: {"type":"string","description":"what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked","enum":["conversation","sandbox","project"]},
  expires_at: {"type":"string","description":"default: never","format":"date-time"},
  environment: {"type":"object","description":"for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default)","maxProperties":4,"example":{"PGPASSWORD":"password"}},
  name: {"type":"string","description":"lower-case letters, digits and '-'; rules name it: ${credential.NAME.FIELD}","maxLength":63,"minLength":1,"example":"github"},
  kind: {"type":"string","description":"which fields it has (default: the preset's, or token)","enum":["token","basic","aws","custom","client"]},
  preset: {"type":"string","description":"a service of /v1/credential-presets: kind and hosts, and rules for sandboxes (egress.credentials)","maxLength":64,"example":"github"},
  owner: {"type":"string","description":"project (default; takes the scope project:write), or the caller's user, who alone sees it","enum":["project","user"]},
} satisfies Schema;
export const credentialFieldMatchSchema = {
  name: {"type":"string","description":"The name","maxLength":128,"minLength":1,"example":"x-team"},
  exact: {"type":"string","description":"The whole value","maxLength":1024},
  prefix: {"type":"string","description":"How the value begins","maxLength":1024},
  present: {"type":"boolean","description":"Whether it is there at all"},
} satisfies Schema;
export const credentialInjectSchema = {
  kind: {"type":"string","description":"Where the credential goes","enum":["header","basic","query","cookie","placeholder","sigv4"]},
  when: {"type":"string","description":"Whether it replaces what the client sent","enum":["always","absent","placeholder"]},
  name: {"type":"string","description":"Of the header, part or cookie","maxLength":64,"example":"authorization"},
  value: {"type":"string","description":"A template","maxLength":8192,"example":"Bearer ${credential.github.token}"},
  username: {"type":"string","description":"A template, for basic","maxLength":8192},
  password: {"type":"string","description":"A template, for basic","maxLength":8192},
  marker: {"type":"string","description":"What a program inside has instead of the value","maxLength":256},
  in: {"type":"array","description":"Where the marker is replaced: header:NAME, query:NAME, path; '*' is any name","maxItems":16,"example":["header:authorization"]},
  access_key_id: {"type":"string","description":"A template, for sigv4","maxLength":8192},
  secret_access_key: {"type":"string","description":"A template, for sigv4","maxLength":8192},
  session_token: {"type":"string","description":"A template, for sigv4","maxLength":8192},
  regions: {"type":"array","description":"That may be signed for","maxItems":16},
  services: {"type":"array","description":"That may be signed for","maxItems":16},
} satisfies Schema;
export const credentialLimitsSchema = {
  requests_per_second: {"type":"integer","description":"Requests each second","minimum":0,"maximum":1125899906842624},
  burst: {"type":"integer","description":"Requests at once; as many as for a second if 0","minimum":0,"maximum":1125899906842624},
  requests: {"type":"integer","description":"Requests in all","minimum":0,"maximum":1125899906842624},
  bytes_out_request: {"type":"integer","description":"Bytes of the body of a request","minimum":0,"maximum":1125899906842624},
  bytes_out: {"type":"integer","description":"Bytes of all bodies of requests","minimum":0,"maximum":1125899906842624},
  bytes_in: {"type":"integer","description":"Bytes of all bodies of answers","minimum":0,"maximum":1125899906842624},
  connections: {"type":"integer","description":"Connections at once","minimum":0,"maximum":1125899906842624},
} satisfies Schema;
export const credentialMatchSchema = {
  methods: {"type":"array","description":"Any of these methods; none: all","maxItems":16,"example":["GET"]},
  path: {"type":"object","description":"The path; none: all"},
  query: {"type":"array","description":"Query parts, all must hold","maxItems":16},
  headers: {"type":"array","description":"Headers, all must hold","maxItems":16},
  encoded_slash: {"type":"boolean","description":"Whether %2F may be in the path"},
} satisfies Schema;
export const credentialPathMatchSchema = {
  exact: {"type":"string","description":"The whole path","maxLength":512,"example":"/user"},
  prefix: {"type":"string","description":"Whole segments at the begin","maxLength":512,"example":"/repos"},
  glob: {"type":"string","description":"'*' is any text within a segment, '**' across segments","maxLength":512,"example":"/repos/acme/**"},
} satisfies Schema;
export const credentialRuleSchema = {
  id: {"type":"string","description":"In logs and errors; unique","maxLength":63,"example":"github-api"},
  host: {"type":"string","description":"A name, or *. and a name","maxLength":253,"example":"api.github.com"},
  scheme: {"type":"string","description":"http: requests without TLS; the credential can be read on the network","enum":["https","http"]},
  port: {"type":"integer","description":"443, or 80 with the scheme http","minimum":0,"maximum":65535},
  match: {"type":"object","description":"Which requests; none: all"},
  action: {"type":"string","description":"What happens to the request","enum":["inject","allow","deny"]},
  inject: {"type":"array","description":"What is put into the request","maxItems":32},
  remove: {"type":"array","description":"Headers that are taken out of the request","maxItems":16},
  limits: {"type":"object","description":"Limits for the sandbox"},
  websocket: {"type":"boolean","description":"Whether a WebSocket may be opened"},
  mask: {"type":"string","description":"Where an answer may not repeat the credential","enum":["headers+body","headers","off"]},
  upstream: {"type":"object","description":"How the host is reached"},
  expires_at: {"type":"string","description":"The rule refuses requests from then on","format":"date-time"},
  note: {"type":"string","description":"For people","maxLength":200},
  source: {"type":"string","description":"Where the rule comes from","maxLength":80,"example":"preset:github"},
} satisfies Schema;
export const credentialUpstreamSchema = {
  ca: {"type":"string","description":"Certificates to trust, as PEM, in place of the system's","maxLength":262144},
  http2: {"type":"string","description":"Whether the host is offered HTTP/2","enum":["as-client","always","never"]},
} satisfies Schema;
export const depositCreateSchema = {
  id: {"type":"string","description":"id chosen by the caller; a repeated id is booked once","maxLength":128,"minLength":1},
  usd: {"type":"number","description":"US dollars","minimum":0,"maximum":1000000000},
  note: {"type":"string","maxLength":256},
} satisfies Schema;
export const egressAllowSchema = {
  host: {"type":"string","description":"a host name, *.name, an address or a range","maxLength":253,"minLength":1,"example":"api.example.com"},
} satisfies Schema;
export const ephemeralCodeSchema = {
  language: {"type":"string","enum":["python","javascript","typescript","bash","r","java"]},
  code: {"type":"string","description":"at most 128 KiB","example":"print(6 * 7)"},
  contextId: {"type":"string","description":"context that runs the code and keeps its state; 'default': the default context of the language, created if missing","maxLength":40,"minLength":1},
  cwd: {"type":"string","description":"working directory; a relative path is below the default folder","maxLength":4096},
  env: {"type":"object","description":"environment variables; they override the sandbox's variables","maxProperties":256},
  user: {"type":"string","description":"name or number of the user (default: the template's user)","maxLength":64},
  stdin: {"type":"string","description":"text for its standard input"},
  stdin_base64: {"type":"string","description":"bytes for its standard input"},
  stdin_open: {"type":"boolean","description":"keep standard input open for POST …/processes/:process/stdin"},
  timeout_ms: {"type":"integer","description":"time limit; the command and all its processes are killed afterwards; 0: the server's default","minimum":0,"maximum":604800000},
  outputLimitBytes: {"type":"integer","description":"bytes that a collected result keeps of each stream","minimum":1,"maximum":16777216},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId to query the job by"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
  end_on_disconnect: {"type":"boolean","description":"kill the command when this connection breaks; by default the command continues"},
  tty: {"type":"boolean","description":"run on a terminal; all output is stdout"},
  rows: {"type":"integer","minimum":0,"maximum":10000},
  columns: {"type":"integer","minimum":0,"maximum":10000},
  artifacts: {"type":"string","description":"folder; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  record: {"type":"boolean","description":"record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings"},
  label: {"type":"string","description":"label shown in lists","maxLength":128},
  config: {"type":"string","description":"a config of /accounts/me/sandboxes","maxLength":128},
  workspace: {"type":"string","description":"name of the workspace whose files the call has, at /mnt/workspaces/NAME","maxLength":53,"minLength":1},
  sandbox: {"type":"object","description":"settings of the sandbox that is made"},
} satisfies Schema;
export const ephemeralExecSchema = {
  command: {"type":"string","description":"a shell line (bash, else sh)","example":"ls -l | wc -l"},
  cmd: {"type":"string","description":"a program, run without a shell","maxLength":4096,"minLength":1},
  args: {"type":"array","description":"arguments of cmd","maxItems":4095},
  cwd: {"type":"string","description":"working directory; a relative path is below the default folder","maxLength":4096},
  env: {"type":"object","description":"environment variables; they override the sandbox's variables","maxProperties":256},
  user: {"type":"string","description":"name or number of the user (default: the template's user)","maxLength":64},
  stdin: {"type":"string","description":"text for its standard input"},
  stdin_base64: {"type":"string","description":"bytes for its standard input"},
  stdin_open: {"type":"boolean","description":"keep standard input open for POST …/processes/:process/stdin"},
  timeout_ms: {"type":"integer","description":"time limit; the command and all its processes are killed afterwards; 0: the server's default","minimum":0,"maximum":604800000},
  outputLimitBytes: {"type":"integer","description":"bytes that a collected result keeps of each stream","minimum":1,"maximum":16777216},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId to query the job by"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
  end_on_disconnect: {"type":"boolean","description":"kill the command when this connection breaks; by default the command continues"},
  tty: {"type":"boolean","description":"run on a terminal; all output is stdout"},
  rows: {"type":"integer","minimum":0,"maximum":10000},
  columns: {"type":"integer","minimum":0,"maximum":10000},
  artifacts: {"type":"string","description":"folder; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  record: {"type":"boolean","description":"record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings"},
  label: {"type":"string","description":"label shown in lists","maxLength":128},
  config: {"type":"string","description":"a config of /accounts/me/sandboxes","maxLength":128},
  workspace: {"type":"string","description":"name of the workspace whose files the call has, at /mnt/workspaces/NAME","maxLength":53,"minLength":1},
  sandbox: {"type":"object","description":"settings of the sandbox that is made"},
} satisfies Schema;
export const execSchema = {
  command: {"type":"string","description":"a shell line (bash, else sh)","example":"ls -l | wc -l"},
  cmd: {"type":"string","description":"a program, run without a shell","maxLength":4096,"minLength":1},
  args: {"type":"array","description":"arguments of cmd","maxItems":4095},
  cwd: {"type":"string","description":"working directory; a relative path is below the default folder","maxLength":4096},
  env: {"type":"object","description":"environment variables; they override the sandbox's variables","maxProperties":256},
  user: {"type":"string","description":"name or number of the user (default: the template's user)","maxLength":64},
  stdin: {"type":"string","description":"text for its standard input"},
  stdin_base64: {"type":"string","description":"bytes for its standard input"},
  stdin_open: {"type":"boolean","description":"keep standard input open for POST …/processes/:process/stdin"},
  timeout_ms: {"type":"integer","description":"time limit; the command and all its processes are killed afterwards; 0: the server's default","minimum":0,"maximum":604800000},
  outputLimitBytes: {"type":"integer","description":"bytes that a collected result keeps of each stream","minimum":1,"maximum":16777216},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId to query the job by"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
  end_on_disconnect: {"type":"boolean","description":"kill the command when this connection breaks; by default the command continues"},
  tty: {"type":"boolean","description":"run on a terminal; all output is stdout"},
  rows: {"type":"integer","minimum":0,"maximum":10000},
  columns: {"type":"integer","minimum":0,"maximum":10000},
  artifacts: {"type":"string","description":"folder; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  record: {"type":"boolean","description":"record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings"},
  label: {"type":"string","description":"label shown in lists","maxLength":128},
} satisfies Schema;
export const fileLinkCreateSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4095,"minLength":1},
  user: {"type":"string","description":"user that reads the file (default: the template's user)","maxLength":64},
  expires_in_s: {"type":"integer","description":"seconds (default 300)","minimum":1,"maximum":3600},
} satisfies Schema;
export const fileMkdirSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  user: {"type":"string","maxLength":64},
  mode: {"type":"string","description":"octal (default 0755)","maxLength":5},
  parents: {"type":"boolean","description":"create missing parents; an existing folder is not an error"},
} satisfies Schema;
export const fileMoveSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  target: {"type":"string","description":"the new path","maxLength":4096},
  user: {"type":"string","maxLength":64},
  parents: {"type":"boolean","description":"create missing parents of the target"},
  no_replace: {"type":"boolean","description":"fail when the target exists"},
  recursive: {"type":"boolean","description":"copy folders recursively"},
} satisfies Schema;
export const filePackSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  names: {"type":"array","description":"paths relative to the folder; a folder is packed without its content; missing and unreadable paths are left out","maxItems":10000,"example":["src/main.c","README.md"]},
  user: {"type":"string","maxLength":64},
} satisfies Schema;
export const fileReadSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  user: {"type":"string","maxLength":64},
  offset: {"type":"integer","description":"offset of the first byte","minimum":0},
  length: {"type":"integer","description":"bytes at most (default 1 MiB)","minimum":1,"maximum":16777216},
} satisfies Schema;
export const fileRemoveSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  user: {"type":"string","maxLength":64},
  recursive: {"type":"boolean"},
} satisfies Schema;
export const fileWriteSchema = {
  path: {"type":"string","description":"absolute path, or path below the default folder","maxLength":4096},
  user: {"type":"string","maxLength":64},
  content: {"type":"string","description":"text"},
  content_base64: {"type":"string","description":"bytes, instead of content"},
  mode: {"type":"string","description":"octal mode of a new file","maxLength":5},
  append: {"type":"boolean"},
  no_replace: {"type":"boolean","description":"fail when the file exists"},
} satisfies Schema;
export const forkSchema = {
  count: {"type":"integer","description":"number of forks (default 1)","minimum":1,"maximum":100},
  name: {"type":"string","description":"name of the fork; several forks get NAME-1, NAME-2 … (default: generated)","maxLength":63},
  memory: {"type":"boolean","description":"the forks continue with the processes of the sandbox and share its memory until they write it (default false); only virtual machines can"},
} satisfies Schema;
export const gatewayBashSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  command: {"type":"string","description":"a shell line"},
  stdin: {"type":"string"},
  env: {"type":"object","maxProperties":256},
  timeout_ms: {"type":"integer","description":"0: the server's default","minimum":0,"maximum":86400000},
  outputLimitBytes: {"type":"integer","description":"bytes that are kept of each stream","minimum":1,"maximum":16777216},
  artifacts: {"type":"string","description":"folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
} satisfies Schema;
export const gatewayCopySchema = {
  files: {"type":"array","maxItems":1000},
} satisfies Schema;
export const gatewayExecuteSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  code: {"type":"string","example":"print(42)"},
  language: {"type":"string","description":"default python","enum":["python","javascript","typescript","bash","r","java"]},
  stdin: {"type":"string"},
  env: {"type":"object","maxProperties":256},
  timeout_ms: {"type":"integer","description":"0: the server's default","minimum":0,"maximum":86400000},
  outputLimitBytes: {"type":"integer","description":"bytes that are kept of each stream","minimum":1,"maximum":16777216},
  artifacts: {"type":"string","description":"folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event","maxLength":4095},
  background: {"type":"boolean","description":"run as a background job; the reply comes at once and has a resultId"},
  conversation: {"type":"string","description":"conversation that the job belongs to; only that conversation can query it","maxLength":128},
  origin: {"type":"object","description":"where the end of the job is reported"},
} satisfies Schema;
export const gatewayFileSchema = {
  path: {"type":"string","maxLength":4096},
  content: {"type":"string"},
  content_base64: {"type":"string"},
} satisfies Schema;
export const gatewayGlobSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  pattern: {"type":"string","description":"pattern with ? * [a-z], and ** for any depth of folders","maxLength":1024,"minLength":1,"example":"**/*.py"},
  path: {"type":"string","description":"folder to search (default: the workspace)","maxLength":4096},
  limit: {"type":"integer","description":"maximum number of paths (default 1000)","minimum":1,"maximum":10000},
} satisfies Schema;
export const gatewayGrepSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  pattern: {"type":"string","description":"a regular expression","maxLength":4096,"minLength":1},
  path: {"type":"string","description":"file or folder to search (default: the workspace)","maxLength":4096},
  glob: {"type":"string","description":"only files whose names match this pattern","maxLength":1024},
  ignore_case: {"type":"boolean"},
  max_results: {"type":"integer","description":"default 200","minimum":1,"maximum":10000},
} satisfies Schema;
export const gatewayReadSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  path: {"type":"string","description":"path relative to the workspace","maxLength":4096},
  offset: {"type":"integer","description":"first line to read (default 1)","minimum":1},
  limit: {"type":"integer","description":"maximum number of lines (default 2000)","minimum":1,"maximum":100000},
} satisfies Schema;
export const gatewayReadBinarySchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  path: {"type":"string","description":"path relative to the workspace","maxLength":4096},
  offset: {"type":"integer","description":"offset of the first byte","minimum":0},
  limit: {"type":"integer","description":"maximum number of bytes (default 8 MiB)","minimum":1,"maximum":8388608},
} satisfies Schema;
export const gatewayWriteSchema = {
  tenant_id: {"type":"string","description":"default: \"default\"","maxLength":128,"minLength":1,"example":"default"},
  session_id: {"type":"string","description":"the first call of a session creates its sandbox","maxLength":128,"minLength":1,"example":"s1"},
  path: {"type":"string","description":"path relative to the workspace","maxLength":4096},
  content: {"type":"string"},
  content_base64: {"type":"string","description":"bytes, instead of content"},
  append: {"type":"boolean"},
} satisfies Schema;
export const gitAddSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  files: {"type":"array","description":"paths without patterns; \".\" stages everything","maxItems":1000,"example":["."]},
} satisfies Schema;
export const gitBranchSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  name: {"type":"string","maxLength":255,"minLength":1},
  checkout: {"type":"boolean","description":"check the branch out"},
} satisfies Schema;
export const gitCheckoutSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  name: {"type":"string","description":"branch, tag or commit","maxLength":255,"minLength":1},
} satisfies Schema;
export const gitCloneSchema = {
  url: {"type":"string","description":"https, http, ssh, git, file, or user@host:path","maxLength":2048,"minLength":1,"example":"https://example.com/project.git"},
  path: {"type":"string","description":"target of the clone: a path that does not exist, or an empty folder","maxLength":4096,"minLength":1,"example":"project"},
  branch: {"type":"string","description":"branch or tag","maxLength":255},
  commit: {"type":"string","description":"commit to check out after the clone","maxLength":255},
  depth: {"type":"integer","description":"number of commits to fetch; 0: all","minimum":0,"maximum":2147483647},
  insecure: {"type":"boolean","description":"do not check certificates"},
  username: {"type":"string","description":"user name for the password; default git, which servers accept with tokens","maxLength":2048},
  password: {"type":"string","description":"password or token for this call and its server; it is not stored","maxLength":2048},
} satisfies Schema;
export const gitCommitRequestSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  message: {"type":"string","maxLength":65536,"minLength":1},
  author: {"type":"string","description":"name of the author (default: the configuration of git)","maxLength":255},
  email: {"type":"string","maxLength":255},
  allow_empty: {"type":"boolean"},
} satisfies Schema;
export const gitPullSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  remote: {"type":"string","description":"default origin","maxLength":255},
  branch: {"type":"string","description":"default: the upstream of the current branch","maxLength":255},
  username: {"type":"string","description":"user name for the password; default git, which servers accept with tokens","maxLength":2048},
  password: {"type":"string","description":"password or token for this call and its server; it is not stored","maxLength":2048},
} satisfies Schema;
export const gitPushSchema = {
  path: {"type":"string","description":"path of the repository; a relative path is below the default folder; default: the default folder itself","maxLength":4096,"example":"project"},
  remote: {"type":"string","description":"default origin","maxLength":255},
  branch: {"type":"string","description":"default: the current branch","maxLength":255},
  set_upstream: {"type":"boolean"},
  username: {"type":"string","description":"user name for the password; default git, which servers accept with tokens","maxLength":2048},
  password: {"type":"string","description":"password or token for this call and its server; it is not stored","maxLength":2048},
} satisfies Schema;
export const idleTimesSchema = {
  reap_ms: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: the setting of the project or server","minimum":0,"maximum":31536000000},
  lifetime_max_ms: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the setting of the project or server","minimum":0,"maximum":31536000000},
  pause_ms: {"type":"integer","description":"idle time after which a sandbox is paused; 0: the setting of the project or server; -1: never","minimum":-1,"maximum":31536000000},
  stop_ms: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: the setting of the project or server; -1: never","minimum":-1,"maximum":31536000000},
} satisfies Schema;
export const invitationCreateSchema = {
  email: {"type":"string","maxLength":128,"example":"ann@example.com"},
  role: {"type":"string","description":"viewer, member or admin","maxLength":16},
} satisfies Schema;
export const jobOriginSchema = {
  type: {"type":"string","description":"stream: /v1/events, which tells of every job; webhook: agent.finished to the project's webhooks as well; else a message there","enum":["none","stream","webhook","slack","discord","telegram","github","zalo","pancake"]},
  credential: {"type":"string","description":"of /v1/channels; else the one named as the type","maxLength":64},
  channel: {"type":"string","description":"slack, discord: its id","maxLength":128},
  thread: {"type":"string","description":"slack: ts of its first message; telegram: number of the topic","maxLength":128},
  message: {"type":"string","description":"discord, telegram: id of the one to reply to","maxLength":128},
  chat: {"type":"string","description":"telegram: its id or @name; pancake: id of the conversation","maxLength":128},
  user: {"type":"string","description":"zalo: id of the user","maxLength":128},
  page: {"type":"string","description":"pancake: id of the page","maxLength":128},
  repository: {"type":"string","description":"github: OWNER/NAME","maxLength":128},
  issue: {"type":"string","description":"github: number of the issue or pull request","maxLength":20},
} satisfies Schema;
export const keyCreateSchema = {
  name: {"type":"string","maxLength":100,"minLength":1},
  scopes: {"type":"array","description":"scopes such as sandbox:read; default: all scopes of the caller that the member's role allows, except admin","maxItems":16},
  member: {"type":"string","description":"user that owns the key; the key is limited to the user's role and is revoked when the membership ends. Default: the caller, if it is a member, unless the key has the scope admin. Empty: the key belongs to the project","maxLength":128},
  expires_at: {"type":"string","description":"default: never","format":"date-time"},
  expires_in_ms: {"type":"integer","description":"lifetime in ms, instead of expires_at; 0: never","minimum":0,"maximum":316224000000},
} satisfies Schema;
export const keyRotateSchema = {
  grace_ms: {"type":"integer","description":"how long the old text remains valid, at most 7 days; 0: not at all","minimum":0,"maximum":604800000},
} satisfies Schema;
export const leaseAcquireSchema = {
  internet: {"type":"boolean","description":"false: no network"},
  network: {"type":"string","description":"blocked or internet; same as the member internet","enum":["blocked","internet"]},
  previewEnabled: {"type":"boolean","description":"false: no previews of the sandbox (default true)"},
  persistent: {"type":"boolean","description":"the idle timeout does not delete the sandbox"},
  template: {"type":"string","description":"name or id (default: the server's default template)","maxLength":128,"example":"base"},
  image: {"type":"string","description":"image of a registry, instead of a template; pulled if the project does not have it yet","maxLength":512,"example":"python:3.12"},
  pull: {"type":"string","description":"of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing)","enum":["missing","always","never"]},
  snapshot: {"type":"string","description":"name or id of a snapshot; the sandbox starts with its files and on its template","maxLength":64},
  config: {"type":"string","description":"id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here","maxLength":64},
  provider: {"type":"string","description":"name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request)","maxLength":63},
  isolation: {"type":"string","description":"the least isolation that is accepted (default: that of the first provider)","maxLength":16,"enum":["none","namespaces","gvisor","microvm","remote"]},
  region: {"type":"string","description":"free-form label of the location; the server only stores it","maxLength":64},
  labels: {"type":"object","description":"labels to filter lists by","maxProperties":64},
  env: {"type":"object","description":"environment of every command; overrides the template's environment; never returned","maxProperties":256},
  resources: {"type":"object"},
  gpus: {"type":"integer","description":"GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number","minimum":0,"maximum":64},
  previewPublic: {"type":"boolean","description":"allow shared links to previews (default false)"},
  egress: {"type":"object","description":"destinations that the sandbox may reach (default: all that the server permits)"},
  volume: {"type":"string","description":"name or id of a volume to mount writable at /workspace","maxLength":63},
  volumes: {"type":"array","description":"volumes to mount at chosen paths","maxItems":8},
  persistentHome: {"type":"string","description":"KEY: the volume home-KEY is mounted at /home/user and created if missing","maxLength":58},
  persistentDiskGb: {"type":"integer","description":"size limit of that volume in GiB when it is created (default: no limit)","minimum":1,"maximum":262144},
  workspace: {"type":"string","description":"NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them","maxLength":53,"minLength":1},
  workspaceRoot: {"type":"string","description":"parent folder of the workspace (default /mnt/workspaces)","maxLength":200,"minLength":1},
  timeout_ms: {"type":"integer","description":"time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never","minimum":0,"maximum":31536000000},
  idle_reap_ms: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: the server's setting","minimum":0,"maximum":31536000000},
  lifetime_max_ms: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting","minimum":0,"maximum":31536000000},
  autoPauseMs: {"type":"integer","description":"idle time after which a sandbox is paused; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoStopMs: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoArchiveMs: {"type":"integer","description":"time after a stop until the files move to the blob store; 0: never","minimum":0,"maximum":31536000000},
  autoDeleteMs: {"type":"integer","description":"time after a stop until the sandbox is deleted, persistent or not; 0: never","minimum":0,"maximum":31536000000},
  key: {"type":"string","description":"key of a user, a workspace, a chat or a session","maxLength":256,"minLength":1,"example":"workspace:42"},
  continue: {"type":"boolean","description":"false: return a fresh filesystem; running processes are ended and the sandbox is reset, or replaced where a reset is impossible. Default: true; for a run (header Atoll-Run) false, unless the files already belong to that run"},
  wait_ms: {"type":"integer","description":"how long to wait while another call creates the sandbox; 0: 30 s","minimum":0,"maximum":60000},
  idempotency_key: {"type":"string","description":"the same as the header Idempotency-Key","maxLength":255,"minLength":1},
  update: {"type":"boolean","description":"given members replace those of the lease's specification, and a sandbox with another specification is replaced together with its files; without this, status 409 names the differences"},
} satisfies Schema;
export const leaseKeepAliveSchema = {
  timeoutMs: {"type":"integer","description":"how long to suspend the idle timeout; 0: count as normal activity only","minimum":0,"maximum":86400000},
} satisfies Schema;
export const limitsSchema = {
  cpu: {"type":"number","description":"vCPUs; 0 = not set","minimum":0,"maximum":1024},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216},
  disk_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456},
  pids: {"type":"integer","minimum":0,"maximum":4194304},
} satisfies Schema;
export const memberAddSchema = {
  user: {"type":"string","description":"id, compared exactly, or e-mail address, kept in lower case","maxLength":128,"example":"ann@example.com"},
  role: {"type":"string","description":"viewer, member or admin","maxLength":16},
} satisfies Schema;
export const memberChangeSchema = {
  role: {"type":"string","description":"viewer, member or admin","maxLength":16},
} satisfies Schema;
export const organizationChangeSchema = {
  name: {"type":"string","maxLength":100,"minLength":1},
} satisfies Schema;
export const organizationCreateSchema = {
  name: {"type":"string","maxLength":100,"minLength":1},
  owner: {"type":"string","description":"address of the user that becomes the first owner","maxLength":128,"example":"ann@example.com"},
} satisfies Schema;
export const organizationMemberPutSchema = {
  user: {"type":"string","maxLength":128,"example":"ann@example.com"},
  role: {"type":"string","description":"owner and admin administer every project of the organisation; an owner manages owners and admins","enum":["member","admin","owner"]},
} satisfies Schema;
export const passwordChangeSchema = {
  old: {"type":"string","description":"required, but for an admin who sets another user's","maxLength":1024},
  new: {"type":"string","description":"at least 4 different characters, not the e-mail address","maxLength":256,"minLength":10},
} satisfies Schema;
export const pauseSchema = {
  disk: {"type":"boolean","description":"move the memory to the disk, where it outlives a restart of the host (default false); only virtual machines can"},
} satisfies Schema;
export const poolSizeSchema = {
  min: {"type":"integer","description":"number of sandboxes kept while the pool is unused (default: target)","minimum":0,"maximum":256},
  target: {"type":"integer","description":"number of sandboxes kept while the pool is used; 0: no pool","minimum":0,"maximum":256},
  max: {"type":"integer","description":"upper limit when misses let the pool grow (default: twice the target)","minimum":0,"maximum":256},
  internet: {"type":"boolean","description":"only the server's default is supported"},
} satisfies Schema;
export const previewChangeSchema = {
  enabled: {"type":"boolean"},
  public: {"type":"boolean"},
  rotate: {"type":"boolean","description":"revoke all existing links"},
} satisfies Schema;
export const previewLinkSchema = {
  port: {"type":"integer","minimum":1,"maximum":65535},
  ttlSeconds: {"type":"integer","description":"lifetime of the link (default: a day; a private link: an hour)","minimum":1,"maximum":2592000},
  private: {"type":"boolean","description":"link for the caller's own browser: works without public previews"},
} satisfies Schema;
export const projectChangeSchema = {
  name: {"type":"string","maxLength":100,"minLength":1},
  sandboxes_max: {"type":"integer","description":"0: the platform's setting; only a platform admin can set it","minimum":0,"maximum":1000000},
  storage_max_mb: {"type":"integer","description":"MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it","minimum":0,"maximum":1073741824},
  defaults: {"type":"object","description":"limits of sandboxes that request none"},
  maximums: {"type":"object","description":"limits that no sandbox exceeds; only a platform admin can set them"},
  organization: {"type":"string","description":"id of the organisation that it belongs to (default: the first); only a platform admin can set it","maxLength":64},
  provider: {"type":"string","description":"provider of its sandboxes, unless their request or template names another; \"\": the server chooses","maxLength":63},
  isolation: {"type":"string","description":"the least isolation that its sandboxes accept, unless their request or template names another; \"\": the server's default","maxLength":16},
  source_address: {"type":"string","description":"IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; \"\": any; only a platform admin can set it","maxLength":15},
} satisfies Schema;
export const projectCreateSchema = {
  name: {"type":"string","maxLength":100,"minLength":1},
  sandboxes_max: {"type":"integer","description":"0: the platform's setting; only a platform admin can set it","minimum":0,"maximum":1000000},
  storage_max_mb: {"type":"integer","description":"MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it","minimum":0,"maximum":1073741824},
  defaults: {"type":"object","description":"limits of sandboxes that request none"},
  maximums: {"type":"object","description":"limits that no sandbox exceeds; only a platform admin can set them"},
  organization: {"type":"string","description":"id of the organisation that it belongs to (default: the first); only a platform admin can set it","maxLength":64},
  provider: {"type":"string","description":"provider of its sandboxes, unless their request or template names another; \"\": the server chooses","maxLength":63},
  isolation: {"type":"string","description":"the least isolation that its sandboxes accept, unless their request or template names another; \"\": the server's default","maxLength":16},
  source_address: {"type":"string","description":"IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; \"\": any; only a platform admin can set it","maxLength":15},
  id: {"type":"string","description":"default: generated","maxLength":63},
  owner: {"type":"string","description":"user that becomes the first member, with the role admin","maxLength":128,"example":"ann@example.com"},
} satisfies Schema;
export const providerAddSchema = {
  name: {"type":"string","maxLength":63,"minLength":1},
  kind: {"type":"string","description":"as GET /v1/providers/kinds lists them (default: the name)","maxLength":32,"minLength":1},
  settings: {"type":"object","description":"max_sandboxes, price_hour and the other settings of a provider in the configuration file, and the options of its kind; secrets are stored encrypted and never returned","maxProperties":32,"example":{"max_sandboxes":"20"}},
} satisfies Schema;
export const providerSetSchema = {
  settings: {"type":"object","description":"settings to change, as in POST /v1/providers; \"\" returns to the default; others stay","maxProperties":32,"example":{"max_sandboxes":"20"}},
} satisfies Schema;
export const quotaChangeSchema = {
  sandboxes_running: {"type":"number","description":"sandboxes that run or are paused","minimum":0,"maximum":1000000000},
  sandboxes_stopped: {"type":"number","description":"stopped and archived sandboxes: a create is refused while there are as many","minimum":0,"maximum":1000000000},
  cpu: {"type":"number","description":"CPUs of running sandboxes together","minimum":0,"maximum":1000000000},
  memory_mb: {"type":"number","description":"memory of running sandboxes together","minimum":0,"maximum":1000000000},
  disk_mb: {"type":"number","description":"disk limits of all sandboxes together","minimum":0,"maximum":1000000000},
  creates_per_minute: {"type":"number","description":"sandboxes made in one minute of the clock","minimum":0,"maximum":1000000000},
  requests_per_second: {"type":"number","description":"requests in one second; each server of the store takes an equal part","minimum":0,"maximum":1000000000},
  egress_mb_per_day: {"type":"number","description":"what sandboxes send in a UTC day","minimum":0,"maximum":1000000000},
} satisfies Schema;
export const registryLoginSchema = {
  username: {"type":"string","maxLength":256},
  password: {"type":"string","description":"or a token; the server keeps neither","maxLength":16384},
} satisfies Schema;
export const resourceConfigPutSchema = {
  maximums: {"type":"object","description":"only a platform admin can set them; unchanged if omitted"},
  cpu: {"type":"number","description":"vCPUs; 0 = not set","minimum":0,"maximum":1024},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216},
  disk_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456},
  pids: {"type":"integer","minimum":0,"maximum":4194304},
} satisfies Schema;
export const resourcesRequestSchema = {
  cpu: {"type":"number","description":"vCPUs","minimum":0,"maximum":1024,"example":0.5},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216,"example":1024},
  disk_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456,"example":1024},
  pids: {"type":"integer","description":"processes and threads","minimum":0,"maximum":4194304,"example":512},
} satisfies Schema;
export const revertSchema = {
  paths: {"type":"array","description":"files, or folders with everything in them; \"/\" means everything","maxItems":1000},
  encoding: {"type":"string","description":"base64: each path is base64-encoded","enum":["text","base64"]},
  base: {"type":"string","description":"name or id of a snapshot, or \"template\" (the default)","maxLength":64},
} satisfies Schema;
export const routingPutSchema = {
  rules: {"type":"array","maxItems":64},
} satisfies Schema;
export const routingRuleSchema = {
  name: {"type":"string","maxLength":63,"minLength":1},
  project: {"type":"string","description":"id of the project","maxLength":64},
  label: {"type":"string","description":"KEY or KEY=VALUE","maxLength":256},
  template: {"type":"string","description":"its name or its id","maxLength":128},
  isolation: {"type":"string","description":"that is asked for, exactly","maxLength":16},
  memory_mb_min: {"type":"integer","minimum":0,"maximum":16777216},
  memory_mb_max: {"type":"integer","minimum":0,"maximum":16777216},
  cpu_min: {"type":"number","minimum":0,"maximum":1024},
  cpu_max: {"type":"number","minimum":0,"maximum":1024},
  price_min: {"type":"number","description":"US dollars of an active hour by the server's prices","minimum":0,"maximum":1000000},
  price_max: {"type":"number","minimum":0,"maximum":1000000},
  providers: {"type":"array","description":"in the order in which they are tried","maxItems":16},
} satisfies Schema;
export const sandboxConfigSchema = {
  internet: {"type":"boolean","description":"false: no network"},
  envVars: {"type":"object","description":"environment of every command; replies show ******** instead of each value; sending that back keeps the stored value","maxProperties":256},
  provider: {"type":"string","description":"a provider of the server, see GET /v1/providers, or a kind that it lacks yet, such as lambda (default: the first that can)","maxLength":32},
  isolation: {"type":"string","description":"the least isolation that is accepted","maxLength":16,"enum":["none","namespaces","gvisor","microvm","remote"]},
  template: {"type":"string","description":"name or id (default: the server's default template)","maxLength":128},
  permissionMode: {"type":"string","description":"edit, ask or bypass; applies to tools that use this config","maxLength":16},
  runtimes: {"type":"array","description":"bash, python, node, r or java: runtimes for tools and commands; advisory","maxItems":8},
  timeout: {"type":"integer","description":"time limit in seconds for a command, a block of code, a job or a tool; at most 300 on lambda and 600 elsewhere","minimum":0},
  memoryLimit: {"type":"integer","description":"MB, at most 1024 on lambda; also the upper limit for requests","minimum":0,"maximum":16777216},
  outputLimitBytes: {"type":"integer","description":"size limit of a tool's output and of each stream of a command","minimum":0},
  persistent: {"type":"boolean","description":"keep the sandbox between calls; not on lambda"},
  resources: {"type":"object"},
  lifecycle: {"type":"object"},
  options: {"type":"object"},
} satisfies Schema;
export const sandboxConfigChangeSchema = {
  name: {"type":"string","maxLength":63,"minLength":1},
  config: {"type":"object"},
} satisfies Schema;
export const sandboxConfigCreateSchema = {
  name: {"type":"string","maxLength":63,"minLength":1,"example":"default"},
  config: {"type":"object"},
} satisfies Schema;
export const sandboxConfigLifecycleSchema = {
  idleTimeoutSeconds: {"type":"integer","description":"idle time after which a persistent sandbox is stopped and any other sandbox is deleted","minimum":0},
  maxLifetimeSeconds: {"type":"integer","description":"age at which the sandbox ends","minimum":0},
} satisfies Schema;
export const sandboxConfigOptionsSchema = {
  mountAwsS3Buckets: {"type":"boolean"},
  workspaceRoot: {"type":"string","description":"parent folder of workspaces (default /mnt/workspaces)","maxLength":1024},
  persistentDiskGb: {"type":"integer","description":"size limit of the home volume in GiB when it is created (default: no limit)","minimum":0,"maximum":65536},
  persistentHome: {"type":"string","description":"mount point of a volume that outlives the sandbox, for packages and caches; /home/user if only persistentDiskGb is given","maxLength":1024},
} satisfies Schema;
export const sandboxConfigResourcesSchema = {
  cpu: {"type":"number","description":"vCPUs","minimum":0,"maximum":1024},
  diskMb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456},
  pids: {"type":"integer","minimum":0,"maximum":4194304},
} satisfies Schema;
export const sandboxCreateSchema = {
  internet: {"type":"boolean","description":"false: no network"},
  network: {"type":"string","description":"blocked or internet; same as the member internet","enum":["blocked","internet"]},
  previewEnabled: {"type":"boolean","description":"false: no previews of the sandbox (default true)"},
  persistent: {"type":"boolean","description":"the idle timeout does not delete the sandbox"},
  template: {"type":"string","description":"name or id (default: the server's default template)","maxLength":128,"example":"base"},
  image: {"type":"string","description":"image of a registry, instead of a template; pulled if the project does not have it yet","maxLength":512,"example":"python:3.12"},
  pull: {"type":"string","description":"of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing)","enum":["missing","always","never"]},
  snapshot: {"type":"string","description":"name or id of a snapshot; the sandbox starts with its files and on its template","maxLength":64},
  config: {"type":"string","description":"id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here","maxLength":64},
  provider: {"type":"string","description":"name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request)","maxLength":63},
  isolation: {"type":"string","description":"the least isolation that is accepted (default: that of the first provider)","maxLength":16,"enum":["none","namespaces","gvisor","microvm","remote"]},
  region: {"type":"string","description":"free-form label of the location; the server only stores it","maxLength":64},
  labels: {"type":"object","description":"labels to filter lists by","maxProperties":64},
  env: {"type":"object","description":"environment of every command; overrides the template's environment; never returned","maxProperties":256},
  resources: {"type":"object"},
  gpus: {"type":"integer","description":"GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number","minimum":0,"maximum":64},
  previewPublic: {"type":"boolean","description":"allow shared links to previews (default false)"},
  egress: {"type":"object","description":"destinations that the sandbox may reach (default: all that the server permits)"},
  volume: {"type":"string","description":"name or id of a volume to mount writable at /workspace","maxLength":63},
  volumes: {"type":"array","description":"volumes to mount at chosen paths","maxItems":8},
  persistentHome: {"type":"string","description":"KEY: the volume home-KEY is mounted at /home/user and created if missing","maxLength":58},
  persistentDiskGb: {"type":"integer","description":"size limit of that volume in GiB when it is created (default: no limit)","minimum":1,"maximum":262144},
  workspace: {"type":"string","description":"NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them","maxLength":53,"minLength":1},
  workspaceRoot: {"type":"string","description":"parent folder of the workspace (default /mnt/workspaces)","maxLength":200,"minLength":1},
  timeout_ms: {"type":"integer","description":"time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never","minimum":0,"maximum":31536000000},
  idle_reap_ms: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: the server's setting","minimum":0,"maximum":31536000000},
  lifetime_max_ms: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting","minimum":0,"maximum":31536000000},
  autoPauseMs: {"type":"integer","description":"idle time after which a sandbox is paused; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoStopMs: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoArchiveMs: {"type":"integer","description":"time after a stop until the files move to the blob store; 0: never","minimum":0,"maximum":31536000000},
  autoDeleteMs: {"type":"integer","description":"time after a stop until the sandbox is deleted, persistent or not; 0: never","minimum":0,"maximum":31536000000},
  name: {"type":"string","description":"unique in the project (default: generated)","maxLength":63},
} satisfies Schema;
export const sandboxEgressSchema = {
  allow: {"type":"array","description":"addresses, ranges and host names that the sandbox may reach even if they are denied; a host name works for TLS on port 443 and HTTP on port 80, and requires that everything else is denied","maxItems":356,"example":["203.0.113.0/24","*.example.com"]},
  deny: {"type":"array","description":"addresses and ranges that the sandbox may not reach; \"0.0.0.0/0\" denies all","maxItems":100,"example":["0.0.0.0/0"]},
  presets: {"type":"array","description":"only in requests: allow the hosts of these presets and deny all else; see /api/sandbox/egress/presets","maxItems":16,"example":["package-registries"]},
  credentials: {"type":"array","description":"only in requests: credentials that have a preset; their hosts are allowed, all else is denied, and the rules of their presets follow those of rules","maxItems":32,"example":["github"]},
  rules: {"type":"array","description":"which requests get credentials outside of the sandbox; their hosts have to be allowed by name","maxItems":128},
  mode: {"type":"string","description":"what happens to refused connections: enforce (default), ask (refused, and a person is asked by an access request), or watch (let through and recorded)","enum":["enforce","ask","watch"]},
} satisfies Schema;
export const sandboxEnvironmentSchema = {
  set: {"type":"object","description":"variables to add or replace","maxProperties":256},
  unset: {"type":"array","description":"names to remove before variables are added","maxItems":256},
} satisfies Schema;
export const sandboxKeepaliveSchema = {
  timeoutMs: {"type":"integer","description":"from now; never shortens an earlier keepalive","minimum":1,"maximum":86400000,"example":600000},
} satisfies Schema;
export const sandboxPersistSchema = {
  hours: {"type":"integer","description":"from now; 0 ends it together with any keepalive","minimum":0,"maximum":24,"example":24},
} satisfies Schema;
export const sandboxResizeSchema = {
  cpu: {"type":"number","description":"vCPUs","minimum":0,"maximum":1024,"example":2},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216,"example":2048},
  disk_mb: {"type":"integer","description":"MiB; can be raised while the sandbox is stopped","minimum":0,"maximum":268435456},
  pids: {"type":"integer","description":"processes and threads","minimum":0,"maximum":4194304},
} satisfies Schema;
export const sandboxSpecificationSchema = {
  internet: {"type":"boolean","description":"false: no network"},
  network: {"type":"string","description":"blocked or internet; same as the member internet","enum":["blocked","internet"]},
  previewEnabled: {"type":"boolean","description":"false: no previews of the sandbox (default true)"},
  persistent: {"type":"boolean","description":"the idle timeout does not delete the sandbox"},
  template: {"type":"string","description":"name or id (default: the server's default template)","maxLength":128,"example":"base"},
  image: {"type":"string","description":"image of a registry, instead of a template; pulled if the project does not have it yet","maxLength":512,"example":"python:3.12"},
  pull: {"type":"string","description":"of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing)","enum":["missing","always","never"]},
  snapshot: {"type":"string","description":"name or id of a snapshot; the sandbox starts with its files and on its template","maxLength":64},
  config: {"type":"string","description":"id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here","maxLength":64},
  provider: {"type":"string","description":"name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request)","maxLength":63},
  isolation: {"type":"string","description":"the least isolation that is accepted (default: that of the first provider)","maxLength":16,"enum":["none","namespaces","gvisor","microvm","remote"]},
  region: {"type":"string","description":"free-form label of the location; the server only stores it","maxLength":64},
  labels: {"type":"object","description":"labels to filter lists by","maxProperties":64},
  env: {"type":"object","description":"environment of every command; overrides the template's environment; never returned","maxProperties":256},
  resources: {"type":"object"},
  gpus: {"type":"integer","description":"GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number","minimum":0,"maximum":64},
  previewPublic: {"type":"boolean","description":"allow shared links to previews (default false)"},
  egress: {"type":"object","description":"destinations that the sandbox may reach (default: all that the server permits)"},
  volume: {"type":"string","description":"name or id of a volume to mount writable at /workspace","maxLength":63},
  volumes: {"type":"array","description":"volumes to mount at chosen paths","maxItems":8},
  persistentHome: {"type":"string","description":"KEY: the volume home-KEY is mounted at /home/user and created if missing","maxLength":58},
  persistentDiskGb: {"type":"integer","description":"size limit of that volume in GiB when it is created (default: no limit)","minimum":1,"maximum":262144},
  workspace: {"type":"string","description":"NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them","maxLength":53,"minLength":1},
  workspaceRoot: {"type":"string","description":"parent folder of the workspace (default /mnt/workspaces)","maxLength":200,"minLength":1},
  timeout_ms: {"type":"integer","description":"time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never","minimum":0,"maximum":31536000000},
  idle_reap_ms: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: the server's setting","minimum":0,"maximum":31536000000},
  lifetime_max_ms: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting","minimum":0,"maximum":31536000000},
  autoPauseMs: {"type":"integer","description":"idle time after which a sandbox is paused; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoStopMs: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: the server's setting; -1: never","minimum":-1,"maximum":31536000000},
  autoArchiveMs: {"type":"integer","description":"time after a stop until the files move to the blob store; 0: never","minimum":0,"maximum":31536000000},
  autoDeleteMs: {"type":"integer","description":"time after a stop until the sandbox is deleted, persistent or not; 0: never","minimum":0,"maximum":31536000000},
} satisfies Schema;
export const sandboxUpdateSchema = {
  idle_reap_ms: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: never","minimum":0,"maximum":31536000000},
  lifetime_max_ms: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: never","minimum":0,"maximum":31536000000},
  autoPauseMs: {"type":"integer","description":"idle time after which a sandbox is paused; 0: never","minimum":0,"maximum":31536000000},
  autoStopMs: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: never","minimum":0,"maximum":31536000000},
  autoArchiveMs: {"type":"integer","description":"time after a stop until the files move to the blob store; 0: never","minimum":0,"maximum":31536000000},
  autoDeleteMs: {"type":"integer","description":"time after a stop until the sandbox is deleted, persistent or not; 0: never","minimum":0,"maximum":31536000000},
  name: {"type":"string","description":"unique in the project","maxLength":63,"minLength":1},
  labels: {"type":"object","description":"replace all labels; those that the server sets, atoll.*, stay","maxProperties":64},
  persistent: {"type":"boolean","description":"the idle timeout does not delete the sandbox"},
  timeout_ms: {"type":"integer","description":"time from now at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never","minimum":0,"maximum":31536000000},
  version: {"type":"integer","description":"change it only if it has this version, else 409; the header If-Match does the same","minimum":1},
} satisfies Schema;
export const sandboxVolumeSchema = {
  volume: {"type":"string","description":"name or id","maxLength":63},
  path: {"type":"string","description":"absolute mount point (default /workspace)","maxLength":255,"example":"/data"},
  read_only: {"type":"boolean","description":"mount read-only; any number of sandboxes may read a volume"},
  subpath: {"type":"string","description":"folder of the volume to mount, created if missing (default: the whole volume)","maxLength":255,"example":"users/alice"},
} satisfies Schema;
export const serviceRequestSchema = {
  command: {"type":"string","description":"shell command line; or cmd and args:","maxLength":65536},
  cmd: {"type":"string","description":"program to run without a shell","maxLength":4096},
  args: {"type":"array","description":"its arguments","maxItems":4095},
  cwd: {"type":"string","maxLength":4096},
  user: {"type":"string","description":"name or number of the user in the sandbox","maxLength":64},
  env: {"type":"object","description":"overrides the sandbox's environment; never returned","maxProperties":256},
  restart: {"type":"string","description":"when to restart the command (default always)","enum":["always","on-failure","no"]},
  restart_limit: {"type":"integer","description":"number of consecutive early exits after which the service has failed; 0: no limit","minimum":0,"maximum":1000},
  restart_delay_ms: {"type":"integer","description":"delay of the first restart, doubled up to a minute (default 500)","minimum":0,"maximum":60000},
  stop_timeout_ms: {"type":"integer","description":"time from SIGTERM to SIGKILL (default 5000)","minimum":0,"maximum":600000},
  keep_awake: {"type":"boolean","description":"a running service keeps the sandbox from being idle"},
} satisfies Schema;
export const settingsPutSchema = {
  idle_reap_seconds: {"type":"integer","description":"idle time after which an ephemeral sandbox is deleted; 0: the platform's setting","minimum":0,"maximum":31622400},
  lifetime_max_seconds: {"type":"integer","description":"an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the platform's setting","minimum":0,"maximum":31622400},
  idle_pause_seconds: {"type":"integer","description":"idle time after which a sandbox is paused; 0: the platform's setting; -1: never","minimum":-1,"maximum":31622400},
  idle_stop_seconds: {"type":"integer","description":"idle time after which a sandbox is stopped; 0: the platform's setting; -1: never","minimum":-1,"maximum":31622400},
  terminal_ttl_seconds: {"type":"integer","description":"time without input and output after which a terminal closes; 0: the platform's setting","minimum":0,"maximum":2592000},
  artifacts_max_mb: {"type":"integer","description":"MiB of stored artifacts; 0: the platform's setting","minimum":0,"maximum":1073741824},
  artifacts_keep_seconds: {"type":"integer","description":"lifetime of an artifact; 0: the platform's setting","minimum":0,"maximum":316224000},
  record_terminals: {"type":"boolean","description":"record the output of every new terminal window"},
  default_isolation: {"type":"string","description":"the least isolation of new sandboxes, unless their request or template names another; the project's member isolation","maxLength":16},
  default_storage_provider: {"type":"string","description":"where volumes and backups are stored: local","maxLength":64},
} satisfies Schema;
export const signInOfferSchema = {
  email: {"type":"string","maxLength":128,"example":"ann@example.com"},
  password: {"type":"string","description":"of the user","maxLength":1024,"minLength":1},
  key: {"type":"string","description":"an API key, instead of a user: the session may do what the key may","maxLength":128,"minLength":1},
  setup_token: {"type":"string","description":"of the one-time link, with email, name and password","maxLength":128,"minLength":1},
  invitation: {"type":"string","description":"of an invitation's link, with name and password","maxLength":128,"minLength":1},
  name: {"type":"string","description":"of a new user, for people","maxLength":100},
} satisfies Schema;
export const signalSchema = {
  signal: {"type":"string","description":"SIGTERM, TERM or 15","maxLength":16},
  tree: {"type":"boolean","description":"signal all processes that it started, not only its process group"},
} satisfies Schema;
export const skillFileSchema = {
  path: {"type":"string","description":"relative to the skill's folder","maxLength":512,"minLength":1,"example":"SKILL.md"},
  content: {"type":"string","description":"base64"},
} satisfies Schema;
export const skillPutSchema = {
  description: {"type":"string","description":"when to use it","maxLength":1024},
  files: {"type":"array","description":"must have a SKILL.md; at most 2 MiB in all","maxItems":200},
} satisfies Schema;
export const snapshotCreateSchema = {
  name: {"type":"string","description":"unique in the project (default: its id)","maxLength":63},
  sync: {"type":"boolean","description":"answer when the snapshot is on disk (default true); the sandbox is not frozen for that time"},
  memory: {"type":"boolean","description":"include the processes (default false); only virtual machines can, the error of other sandboxes says why"},
  backup: {"type":"boolean","description":"also start a backup in the blob store; it outlives the snapshot and the server"},
} satisfies Schema;
export const snapshotExportSchema = {
  name: {"type":"string","description":"name of the backup, unique in the project (default: its id)","maxLength":63},
  full: {"type":"boolean","description":"back up the whole filesystem, not only the changes since the template; such a backup can be imported on a server that lacks the template"},
} satisfies Schema;
export const snapshotImportSchema = {
  backup: {"type":"string","description":"name or id","maxLength":64,"minLength":1},
  name: {"type":"string","description":"name of the snapshot, unique in the project (default: its id)","maxLength":63},
  template: {"type":"string","description":"template with the same files as the template of the backup, if it has another name here; a full backup creates a template of this name if none exists","maxLength":64},
} satisfies Schema;
export const snapshotRestoreSchema = {
  new: {"type":"boolean","description":"restore into a new sandbox with the snapshot's template; default false: restore into the snapshot's sandbox, or into a new one if that is deleted"},
  name: {"type":"string","description":"name of the new sandbox; implies new","maxLength":63},
} satisfies Schema;
export const templateChangeSchema = {
  resources: {"type":"object"},
  pool: {"type":"object"},
  idle: {"type":"object"},
  public: {"type":"boolean","description":"other projects can use the template by its id"},
  description: {"type":"string","maxLength":1000},
  runtime: {"type":"string","description":"free-form label of the purpose","maxLength":64},
  isolation: {"type":"string","description":"the least isolation that its sandboxes accept, unless their request names another; \"\": the server's default","maxLength":16},
  provider: {"type":"string","description":"provider of its sandboxes, unless their request names another; \"\": the server chooses","maxLength":63},
  user: {"type":"string","description":"default user for commands","maxLength":64},
  workdir: {"type":"string","description":"an absolute path","maxLength":1024},
  env: {"type":"object","description":"environment; replaces the whole stored one","maxProperties":256},
  warm: {"type":"array","description":"interpreters that the template's sandboxes keep ready for code","maxItems":4},
  entrypoint: {"type":"array","description":"program and arguments that a sandbox starts","maxItems":64},
  ports: {"description":"list of up to 64 numbers from 1 to 65535","example":[3000]},
} satisfies Schema;
export const templateCreateSchema = {
  resources: {"type":"object"},
  pool: {"type":"object"},
  idle: {"type":"object"},
  public: {"type":"boolean","description":"other projects can use the template by its id"},
  description: {"type":"string","maxLength":1000},
  runtime: {"type":"string","description":"free-form label of the purpose","maxLength":64},
  isolation: {"type":"string","description":"the least isolation that its sandboxes accept, unless their request names another; \"\": the server's default","maxLength":16},
  provider: {"type":"string","description":"provider of its sandboxes, unless their request names another; \"\": the server chooses","maxLength":63},
  user: {"type":"string","description":"default user for commands","maxLength":64},
  workdir: {"type":"string","description":"an absolute path","maxLength":1024},
  env: {"type":"object","description":"environment; replaces the whole stored one","maxProperties":256},
  warm: {"type":"array","description":"interpreters that the template's sandboxes keep ready for code","maxItems":4},
  entrypoint: {"type":"array","description":"program and arguments that a sandbox starts","maxItems":64},
  ports: {"description":"list of up to 64 numbers from 1 to 65535","example":[3000]},
  name: {"type":"string","maxLength":63},
  image: {"type":"string","description":"image reference in a registry; give either image or from","maxLength":512,"example":"docker.io/library/debian:12"},
  login: {"type":"object","description":"login for the registry of image"},
  from: {"type":"string","description":"template whose root filesystem the new template shares","maxLength":63,"example":"host"},
} satisfies Schema;
export const templateResourcesSchema = {
  cpu: {"type":"number","description":"vCPUs; 0: inherited","minimum":0,"maximum":1024},
  memory_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":16777216},
  disk_mb: {"type":"integer","description":"MiB","minimum":0,"maximum":268435456},
  pids: {"type":"integer","description":"processes and threads","minimum":0,"maximum":4194304},
} satisfies Schema;
export const templateWarmSchema = {
  language: {"type":"string","description":"python or javascript","maxLength":32,"example":"python"},
  imports: {"type":"array","description":"modules that the interpreter imports in advance","maxItems":32,"example":["numpy"]},
} satisfies Schema;
export const terminalSchema = {
  name: {"type":"string","description":"name of the window; an open window with this name is reused (default: a new window with a generated name)","maxLength":32},
  rows: {"type":"integer","description":"default 24","minimum":0,"maximum":300},
  cols: {"type":"integer","description":"default 80","minimum":0,"maximum":500},
  ttl_s: {"type":"integer","description":"idle time after which the terminal closes, unless a process runs in it (default: the project's setting)","minimum":1,"maximum":2592000},
  record: {"type":"boolean","description":"record the window from its earliest stored output on; the setting record_terminals does this for all new windows; /api/sandbox/recordings lists the recording when the window has closed"},
  command: {"type":"string","description":"shell command line (default: a login shell)"},
  cwd: {"type":"string","maxLength":4096},
  user: {"type":"string","maxLength":64},
  env: {"type":"object","maxProperties":256},
  session: {"type":"string","description":"sessionId of an open terminal; the reply only has a new path to it","maxLength":64},
} satisfies Schema;
export const toolCallSchema = {
  approvalWaitMs: {"type":"integer","description":"how long to wait for the approval of a call that needs one (default 20 s)","minimum":0,"maximum":300000},
  sandbox: {"type":"object","description":"settings of the sandbox that an ephemeral call makes"},
  ephemeral: {"type":"boolean","description":"true, or a config, a workspace or settings without a sandbox, lease or session: a sandbox is made for the call and ends with it; without a workspace only bash is offered"},
  workspace: {"type":"string","description":"workspace whose files an ephemeral call, or the lease's sandbox, has at /mnt/workspaces/NAME","maxLength":53,"minLength":1},
  sandboxId: {"type":"string","description":"id or name of a sandbox; or","maxLength":128,"minLength":1},
  lease: {"type":"string","description":"key of a lease, whose sandbox is made on first use; or","maxLength":256,"minLength":1},
  sessionId: {"type":"string","description":"a session, as of /v1/sandbox","maxLength":128,"minLength":1},
  tenantId: {"type":"string","description":"of the session; default: \"default\"","maxLength":128,"minLength":1},
  config: {"type":"string","description":"a config of /accounts/me/sandboxes for the lease's sandbox and for the limits of tools; default: the sandbox's own config","maxLength":128,"minLength":1},
  conversationId: {"type":"string","description":"the conversation that owns the call's background jobs","maxLength":128,"minLength":1},
  origin: {"type":"object","description":"source of the conversation's message: the ends of background jobs are reported there, and approvals show it"},
  input: {"description":"an object of the tool's inputSchema"},
} satisfies Schema;
export const userChangeSchema = {
  name: {"type":"string","maxLength":100},
  is_admin: {"type":"boolean"},
  is_disabled: {"type":"boolean","description":"may not sign in; its sessions end, and its keys may do nothing"},
} satisfies Schema;
export const userCreateSchema = {
  email: {"type":"string","description":"kept in lower case; never changes","maxLength":128,"example":"ann@example.com"},
  name: {"type":"string","description":"for people","maxLength":100},
  password: {"type":"string","description":"default: the answer has a link with which the user sets it","maxLength":256,"minLength":10},
  is_admin: {"type":"boolean","description":"an admin of the whole server"},
} satisfies Schema;
export const volumeAttachSchema = {
  volume: {"type":"string","description":"name or id","maxLength":63},
  path: {"type":"string","description":"absolute mount point (default /workspace)","maxLength":255,"example":"/workspace"},
  read_only: {"type":"boolean","description":"mount read-only; any number of sandboxes may read a volume"},
  subpath: {"type":"string","description":"folder of the volume to mount, created if missing (default: the whole volume)","maxLength":255,"example":"users/alice"},
} satisfies Schema;
export const volumeCreateSchema = {
  name: {"type":"string","description":"unique in the project","maxLength":63},
  size_mb: {"type":"integer","description":"size limit in MiB (default: no limit)","minimum":1,"maximum":268435456,"example":1024},
} satisfies Schema;
export const volumeGrowSchema = {
  size_mb: {"type":"integer","description":"MiB; not less than the current size","minimum":1,"maximum":268435456,"example":2048},
} satisfies Schema;
export const webhookChangeSchema = {
  url: {"type":"string","description":"http or https URL on the internet","maxLength":2048,"minLength":1},
  events: {"type":"array","description":"kinds such as sandbox.started, or sandbox.* (default: all)","maxItems":32},
  secret: {"type":"string","description":"key for signatures (default: generated)","maxLength":128},
  enabled: {"type":"boolean","description":"default true"},
} satisfies Schema;
export const webhookCreateSchema = {
  url: {"type":"string","description":"http or https URL on the internet","maxLength":2048,"minLength":1},
  events: {"type":"array","description":"kinds such as sandbox.started, or sandbox.* (default: all)","maxItems":32},
  secret: {"type":"string","description":"key for signatures (default: generated)","maxLength":128},
  enabled: {"type":"boolean","description":"default true"},
} satisfies Schema;
export const windowChangeSchema = {
  rows: {"type":"integer","minimum":1,"maximum":300},
  cols: {"type":"integer","minimum":1,"maximum":500},
  ttl_s: {"type":"integer","minimum":1,"maximum":2592000},
} satisfies Schema;
export const windowKeysSchema = {
  text: {"type":"string","description":"text to type","maxLength":131072},
  paste: {"type":"string","description":"text to paste; uses bracketed paste if the program has enabled it","maxLength":131072},
  keys: {"type":"array","description":"keys to press after text and paste: C-c, M-x, S-Tab, Up, Enter, Escape, F5, …; other strings are typed","maxItems":1024},
  wait_text: {"type":"string","description":"wait until the screen shows this text; the first condition that holds ends the wait; after typing, only later output counts","maxLength":4096},
  wait_regex: {"type":"string","description":"wait until a line matches this POSIX extended regular expression","maxLength":512},
  wait_change: {"type":"boolean","description":"wait until the screen changes"},
  quiet_ms: {"type":"integer","description":"wait until there was no output for this time","minimum":0,"maximum":600000},
  wait_ms: {"type":"integer","description":"maximum wait (default 10000)","minimum":0,"maximum":600000},
  form: {"type":"string","description":"format of the screen","enum":["text","ansi","cells"]},
} satisfies Schema;
export const windowRunSchema = {
  command: {"type":"string","description":"command line; a command that runs in the window is cancelled first; without command, wait for the running one","maxLength":65536},
  keep: {"type":"boolean","description":"answer 409 instead of cancelling a running command"},
  wait_ms: {"type":"integer","description":"maximum wait; afterwards the command continues (default 30000)","minimum":0,"maximum":600000},
  outputLimitBytes: {"type":"integer","description":"bytes kept from the end of the output (default 65536)","minimum":1,"maximum":1048576},
  cwd: {"type":"string","description":"working directory, if the window is created","maxLength":4096},
  user: {"type":"string","description":"user, if the window is created","maxLength":64},
  env: {"type":"object","description":"environment, if the window is created","maxProperties":256},
} satisfies Schema;
