#!/usr/bin/env bash
# Puts a real kube-apiserver and etcd where `make kube-test` looks for them.
#
# usage: scripts/kube-assets.sh [DIR]     default DIR: ${XDG_CACHE_HOME:-~/.cache}/rollout-kube/bin
#
# KUBEBUILDER_ASSETS set: only checks that both programs are there. Otherwise builds kube-apiserver
# 1.20 from Debian's source package and links the etcd of Debian's etcd-server. Needs root for apt,
# about 2 GB of disk meanwhile and 4 to 5 minutes on two cores; talks to the mirror that this
# machine's apt is set up with, and to nothing else. Does nothing when both are already there.
set -euo pipefail

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for program in kube-apiserver etcd; do
    [ -x "$KUBEBUILDER_ASSETS/$program" ] || { echo "KUBEBUILDER_ASSETS has no $program: $KUBEBUILDER_ASSETS" >&2; exit 1; }
  done
  echo "using $KUBEBUILDER_ASSETS"
  exit 0
fi

bin=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/rollout-kube/bin}
mkdir -p "$bin"
exec 9>"$bin/.lock"
flock 9 # two checkouts may ask at once; the second waits and finds the work done
if [ -x "$bin/kube-apiserver" ] && [ -x "$bin/etcd" ]; then
  echo "already in $bin"
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "needs root on a Debian system; elsewhere set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "installing etcd-server, make, rsync"
apt-get update -qq
apt-get install -y -qq etcd-server make rsync openssl >/dev/null
ln -sf "$(command -v etcd)" "$bin/etcd"

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial,go,src,home,gopath}
chmod 755 "$work"

# A package list of our own, so that the machine's stays as it is. The mirror is the one apt knows.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Identifier: Packages' | awk '$2 == "Debian" { print $1; exit }')
key=/usr/share/keyrings/debian-archive-keyring.gpg
# kubernetes 1.20 is Debian 12's. It wants the Go of its time, which is Debian 11's: built with
# Debian 12's Go 1.19 two vendored libraries misbehave at run time (map iteration, empty strings).
cat >"$work/sources.list" <<LIST
deb-src [signed-by=$key] $mirror bookworm main
deb [signed-by=$key] $mirror bullseye main
LIST
apt=(
  -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::archives=$work/archives"
  -o "APT::Sandbox::User=root" -o "APT::Get::List-Cleanup=0"
)
echo "fetching the source of kubernetes and Go 1.15"
apt-get "${apt[@]}" update -qq
(cd "$work/src" && apt-get "${apt[@]}" source -qq --download-only kubernetes && tar xzf kubernetes_*.orig.tar.gz)
(cd "$work/archives" && apt-get "${apt[@]}" download -qq golang-1.15-go golang-1.15-src)
for package in "$work"/archives/*.deb; do dpkg -x "$package" "$work/go"; done

# Debian splits Go into two trees joined by absolute links; join them where they were unpacked.
goroot=$work/go/usr/lib/go-1.15
for link in src test api misc; do
  rm -rf "${goroot:?}/$link"
  ln -s "$work/go/usr/share/go-1.15/$link" "$goroot/$link"
done
rm -f "$goroot/VERSION"
echo go1.15.15 >"$goroot/VERSION"

echo "building kube-apiserver (4 to 5 minutes)"
cd "$work"/src/kubernetes-*/
env -i HOME="$work/home" GOROOT="$goroot" GOPATH="$work/gopath" PATH="$goroot/bin:/usr/bin:/bin" \
  CGO_ENABLED=0 GOFLAGS=-mod=vendor \
  nice make WHAT=cmd/kube-apiserver >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }
install -m 755 _output/bin/kube-apiserver "$bin/kube-apiserver"
"$bin/kube-apiserver" --version
echo "installed in $bin"
