#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# code-server.sh FOLDER [VERSION] — code-server from npm, for Node.js 20, with its terminal and search, for a place that reaches npm and nothing
# else: what would be fetched ready-made from GitHub is built against the headers in /usr, or Debian's.
set -eu
version=${2:-4.100.3}
mkdir -p "$1"
cd "$1"
export npm_config_nodedir=/usr npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
npm install --ignore-scripts "code-server@$version"
npm rebuild argon2
cd node_modules/code-server/lib/vscode
npm install --ignore-scripts --omit=dev
npm rebuild @vscode/spdlog native-watchdog
# It is built, and then fails at a step for its makers.
npm rebuild node-pty || [ -e node_modules/node-pty/build/Release/pty.node ]
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
