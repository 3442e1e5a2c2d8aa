#!/bin/bash
# Two commands on a machine where nothing of ours was ever installed: a new
# Debian in a folder, with git and nothing else, gets a clone of this repository
# (as committed) and runs ./dev run and ./dev test there.
#
#   fresh_debian.sh [bookworm|trixie]
#
# Needs root, debootstrap and about 6 GB under ${TMPDIR:-/var/tmp}. Exit 77: not
# possible here.
set -euo pipefail
suite=${1:-bookworm}
source=$(cd "$(dirname "$0")/../.." && pwd)

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! unshare --mount --pid --fork true 2>/dev/null; then
  echo "skipped: needs root, debootstrap and mount namespaces"
  exit 77
fi
mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(CREATED_BY)' |
  awk -F'|' -v s="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$3 == "Packages" && $2 == s { print $1; exit }')

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}" wireplan-fresh.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

echo "debootstrap $suite"
SECONDS=0
debootstrap --variant=minbase --include=git "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  { tail -n 20 "$work/debootstrap.log"; exit 1; }
echo "  $SECONDS s"

git clone --quiet "file://$source" "$root/root/wireplan"

# How this machine reaches its registries is no part of what is tested: pip's
# settings and the certificates that it trusts come along.
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
[ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/host-certificates.crt"

cat >"$root/root/check.sh" <<'INSIDE'
set -euo pipefail
cd /root/wireplan

SECONDS=0
./dev run >/root/run.log 2>&1 &
server=$!
until url=$(grep -m1 -o 'http://127.0.0.1:[0-9]*' /root/run.log); do
  if ! kill -0 $server 2>/dev/null; then tail -n 40 /root/run.log; exit 1; fi
  sleep 1
done
echo "./dev run: $SECONDS s until the page is served at $url"
python3 - "$url" <<'PYTHON'
import sys, urllib.request
for name, kind in (("", "text/html"), ("app.mjs", "text/javascript"), ("app.wasm", "application/wasm"),
                   ("embed.html", "text/html"), ("wireplan.mjs", "text/javascript"), ("wireplan.wasm", "application/wasm")):
    with urllib.request.urlopen(f"{sys.argv[1]}/{name}") as answer:
        assert answer.headers.get_content_type() == kind, (name, answer.headers.get_content_type())
        print(f"  /{name}: {len(answer.read())} bytes, {kind}")
PYTHON
kill $server
wait $server 2>/dev/null || true

SECONDS=0
if ! ./dev test >/root/test.log 2>&1; then tail -n 60 /root/test.log; exit 1; fi
tail -n 12 /root/test.log
echo "./dev test: $SECONDS s"

SECONDS=0
./dev setup
echo "./dev setup with nothing to do: $SECONDS s"
INSIDE

# In namespaces of its own, so mounts and processes are gone when it ends.
unshare --mount --pid --fork --kill-child bash -c '
  root=$1
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
    PIP_CERT=/etc/host-certificates.crt \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" bash /root/check.sh
' inside "$root"
echo "passed on a fresh $suite"
