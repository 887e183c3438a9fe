#!/usr/bin/env bash
# Puts Debian's Chromium and a font where `make ui-test` looks for them, and axe-core beside them.
#
# usage: scripts/ui-assets.sh
#
# Needs root for apt, npm, and about 600 MB of disk; talks to the mirrors that this machine's apt and npm
# are set up with, and to nothing else. Does nothing where all is there already.
set -euo pipefail

axe=${XDG_CACHE_HOME:-$HOME/.cache}/rollout-ui
version=4.14.1
mkdir -p "$axe"
exec 9>"$axe/.lock"
flock 9 # two checkouts may ask at once; the second waits and finds the work done
if ! command -v chromium >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "needs root on a Debian system; elsewhere put chromium on the path" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
if [ ! -f "$axe/node_modules/axe-core/axe.min.js" ]; then
  npm install --silent --no-audit --no-fund --prefix "$axe" "axe-core@$version"
fi
echo "$(command -v chromium), $axe/node_modules/axe-core"
