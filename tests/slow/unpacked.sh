#!/bin/bash
# The native tarball where nothing of ours was ever installed: a new Debian in a folder. First as it is, with nothing but the tarball: the program
# answers as here. Then with a compiler: the examples are built on it. What runs inside is network-free but for apt.
#
#   unpacked.sh [bookworm|trixie]
#
# Needs root, debootstrap, the built program and about 2 GB under ${TMPDIR:-/var/tmp}. Exit 77: not possible here.
set -euo pipefail
suite=${1:-bookworm}
cd "$(dirname "$0")/../.."

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! unshare --mount --pid --fork true 2>/dev/null; then
  echo "skipped: needs root, debootstrap and mount namespaces"
  exit 77
fi
mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(CREATED_BY)' |
  awk -F'|' -v s="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$3 == "Packages" && $2 == s { print $1; exit }')

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}" wireplan-unpacked.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

.venv/bin/python tools/package/package.py "$work/packages" native
build/native/wireplan estimate story --json >"$work/expected.json"
build/native/wireplan search story --top 3 >"$work/expected.txt" 2>/dev/null
build/native/wireplan search story --top 3 --json 2>/dev/null | .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["text"].splitlines()[0])' >"$work/expected.line"

echo "debootstrap $suite"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log"; exit 1; }
mkdir "$root/root/given"
cp "$work"/packages/*.tar.gz "$work"/expected.* "$root/root/given"
cp -r examples "$root/root/given"
[ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/"

cat >"$root/root/check.sh" <<'INSIDE'
set -euo pipefail
mkdir /opt/wireplan
tar -xzf /root/given/wireplan-*.tar.gz -C /opt/wireplan --strip-components=1
export PATH=/opt/wireplan/bin:$PATH
wireplan --version
wireplan estimate story --json | cmp - /root/given/expected.json
wireplan search story --top 3 2>/dev/null | cmp - /root/given/expected.txt
# What measures is found and says what this machine lacks (77), not that it is missing.
status=0
wireplan measure --backend nccl -b 1K -e 1K >/root/measure.log 2>&1 || status=$?
cat /root/measure.log
[ $status = 77 ] && ! grep -q missing /root/measure.log
echo "the program runs with nothing installed"

export DEBIAN_FRONTEND=noninteractive
apt-get update >/dev/null
apt-get install -y --no-install-recommends g++ cmake make nlohmann-json3-dev pkgconf >/root/apt.log 2>&1 || { tail /root/apt.log; exit 1; }
for example in c cpp; do
  cmake -S /root/given/examples/$example -B /root/build-$example -DCMAKE_PREFIX_PATH=/opt/wireplan >/dev/null
  cmake --build /root/build-$example >/dev/null
done
status=0
/root/build-c/fits >/root/estimate.json || status=$?
[ $status = 1 ] && cmp /root/estimate.json /root/given/expected.json
/root/build-cpp/best 2>/dev/null >/root/best.txt
cat /root/best.txt
head -n 1 /root/best.txt | cmp - /root/given/expected.line
cc /root/given/examples/c/fits.c $(PKG_CONFIG_PATH=/opt/wireplan/lib/pkgconfig pkgconf --cflags --libs wireplan) -o /root/fits
/root/fits '{"plan": "story", "set": [["parallel.data_sharding", "fsdp"]]}' >/dev/null
echo "the examples are built and run on it"
INSIDE

# In namespaces of its own, so mounts and processes are gone when it ends.
unshare --mount --pid --fork --kill-child bash -c '
  root=$1
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" bash /root/check.sh
' inside "$root"
echo "passed on a fresh $suite"
