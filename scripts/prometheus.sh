#!/usr/bin/env bash
# Puts Debian's Prometheus where `make prometheus-test` and `make kube-test` look for it, and prints the program's path.
#
# usage: scripts/prometheus.sh [DIR]     default DIR: ${XDG_CACHE_HOME:-~/.cache}/rollout-prometheus
#
# PROMETHEUS set, or a prometheus on the PATH: prints that. Otherwise unpacks Debian's package, without
# installing it, so that no service is started. Does nothing when it is already there.
set -euo pipefail

found=${PROMETHEUS:-$(command -v prometheus || true)}
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/rollout-prometheus}
if [ -z "$found" ]; then
  found=$folder/usr/bin/prometheus
  if [ ! -x "$found" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    (cd "$work" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; }) >&2
    mkdir -p "$folder"
    dpkg -x "$work"/prometheus_*.deb "$folder"
  fi
fi
[ -x "$found" ] || { echo "no such program: $found" >&2; exit 1; }
echo "$found"
