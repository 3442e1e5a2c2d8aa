# Functions of setup.sh that know Debian. Uses $cache, say and step.

emscripten_floor=3.1.69   # Debian 13's; older ones lack parts of C++20's library
catch2_version=3.7.1
libyaml_version=0.2.5

installed() { # installed PACKAGE [VERSION_PREFIX]
  local found
  found=$(dpkg-query -W -f '${Status} ${Version}' "$1" 2>/dev/null) || return 1
  case "$found" in "install ok installed ${2:-}"*) ;; *) return 1 ;; esac
}

emcc_is_recent() {
  local version
  version=$(emcc --version 2>/dev/null | sed -n '1s/.* \([0-9]\+\.[0-9]\+\.[0-9]\+\).*/\1/p')
  [ -n "$version" ] && dpkg --compare-versions "$version" ge "$emscripten_floor"
}

become_root() { # become_root PACKAGE...: sets $sudo, or says what is missing
  sudo=()
  [ "$(id -u)" = 0 ] && return
  if command -v sudo >/dev/null; then sudo=(sudo); return; fi
  say "not root, and no sudo. As root: apt-get install ${*}"
  say "(NAME/SUITE: from that suite of your Debian mirror)"
  exit 1
}

# -------------------------------------------------------------- private apt
# Besides the system's sources: backports and Debian 13 on the same mirror. Both
# are pinned so low that nothing comes from them unless it is asked for by name;
# without the pin a dependency could drag in Debian 13's libc.
private_apt() {
  apt=(
    -o "Dir::State::Lists=$cache/apt/lists"
    -o "Dir::Cache=$cache/apt/cache"
    -o "Dir::Etc::SourceParts=$cache/apt/sources"
    -o "Dir::Etc::PreferencesParts=$cache/apt/preferences"
    -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Dpkg::Use-Pty=0
  )
  [ -d "$cache/apt/sources" ] && return
  local codename mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$cache"/apt/{lists/partial,cache/archives/partial,sources.new,preferences}
  # apt itself tells its mirror, whatever the format of the list of sources.
  mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(CREATED_BY)' |
    awk -F'|' -v c="$codename" '$4 == "Packages" && ($2 == c || ($2 == "stable" && $3 == c)) { print $1; exit }')
  if [ -z "$mirror" ]; then
    echo "no source for Debian $codename among apt's sources" >&2
    return 1
  fi
  find /etc/apt/sources.list.d -name '*.list' -o -name '*.sources' |
    xargs -r ln -sf -t "$cache/apt/sources.new"
  find /etc/apt/preferences.d -type f | xargs -r ln -sf -t "$cache/apt/preferences"
  {
    [ "$codename" != bookworm ] ||
      printf 'Types: deb\nURIs: %s\nSuites: bookworm-backports\nComponents: main\nSigned-By: %s\n\n' "$mirror" "$keyring"
    printf 'Types: deb deb-src\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' "$mirror" "$keyring"
  } >"$cache/apt/sources.new/wireplan.sources"
  [ "$codename" = trixie ] ||
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n\n' trixie bookworm-backports \
      >"$cache/apt/preferences/wireplan"
  mv "$cache/apt/sources.new" "$cache/apt/sources"
}

apt_update() {
  # The system's own update comes first: a fresh machine has no lists at all.
  "${sudo[@]}" apt-get -o Acquire::Retries=3 update
  private_apt && apt-get "${apt[@]}" update
}

apt_install() {
  private_apt
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get "${apt[@]}" install -y --no-install-recommends "$@"
  "${sudo[@]}" apt-get "${apt[@]}" clean   # half a gigabyte of archives
}

private_lists() { # for what is fetched without being installed; needs no root
  if ! [ -d "$cache/apt/sources" ] || ! ls "$cache"/apt/lists/*trixie*Packages* >/dev/null 2>&1; then
    [ -n "$(apt-get indextargets)" ] || { become_root && "${sudo[@]}" apt-get update; }
    private_apt && apt-get "${apt[@]}" update
  else
    private_apt
  fi
}

# --------------------------------------------------------------- Emscripten
# Debian 13's package runs on Debian 12 with two repairs:
#  - its optimiser is an ES module and looks for its own packages beside itself
#    only, where a node that is not Debian's does not find them;
#  - Debian 12's binaryen 108 is too old (EM_JS breaks, -flto fails), and
#    binaryen 120 needs a newer libc: both are unpacked under .cache/binaryen
#    and run by that libc's own loader. cmake/emscripten.cmake points emcc there.
fix_debian_emscripten() {
  local home=/usr/share/emscripten
  case "$(readlink -f "$(command -v emcc)")" in $home/*) ;; *) return 0 ;; esac
  if ! [ -e $home/node_modules ] && [ -d /usr/share/nodejs/acorn ]; then
    become_root && "${sudo[@]}" ln -sfn /usr/share/nodejs $home/node_modules
  fi
  if [ "$release" = 12 ] && ! [ -x "$cache/binaryen/bin/wasm-opt" ]; then
    step "binaryen 120 (beside Debian 12's)" fetch_binaryen
  fi
}

fetch_binaryen() {
  local work=$cache/binaryen.new tool loader
  private_lists
  rm -rf "$work" "$cache/binaryen"
  mkdir -p "$work"/{bin,root,download}
  (cd "$work/download" && apt-get "${apt[@]}" download binaryen/trixie libc6/trixie libstdc++6/trixie libgcc-s1/trixie)
  for package in "$work"/download/*.deb; do dpkg -x "$package" "$work/root"; done
  rm -r "$work/download"
  mv "$work" "$cache/binaryen"
  # ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ...: one of them is there.
  loader=$(cd "$cache/binaryen/root" && find usr/lib -name 'ld-linux*' | head -n 1)
  for tool in "$cache"/binaryen/root/usr/bin/wasm*; do
    tool=$(basename "$tool")
    cat >"$cache/binaryen/bin/$tool" <<SCRIPT
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/root
exec "\$root/$loader" --library-path "\$root/$(dirname "$loader")" "\$root/usr/bin/$tool" "\$@"
SCRIPT
    chmod +x "$cache/binaryen/bin/$tool"
  done
  "$cache/binaryen/bin/wasm-opt" --version
}

# ------------------------------------------------------------------- Catch2
# Debian packages Catch2 compiled for this machine only. The tests compiled to
# WebAssembly use the form in two files, from Debian's source package: the same
# version, and apt checks its hash.
fetch_catch2() {
  local work=$cache/catch2
  private_lists
  rm -rf "$work" third_party/catch2
  mkdir -p "$work"
  (
    cd "$work"
    apt-get "${apt[@]}" source --download-only "catch2/trixie"
    tar -xf catch2_*.orig.tar.* --strip-components=1
  )
  grep -q "v$catch2_version" "$work/extras/catch_amalgamated.hpp"
  mkdir -p third_party
  mv "$work/extras" third_party/catch2.new
  cp "$work/LICENSE.txt" third_party/catch2.new
  mv third_party/catch2.new third_party/catch2
  rm -r "$work"
}

# ------------------------------------------------------------------ libyaml
# Debian packages libyaml compiled for this machine only; the module needs its
# source. From Debian's source package: apt checks its hash.
fetch_libyaml() {
  local work=$cache/libyaml
  private_lists
  rm -rf "$work" third_party/libyaml
  mkdir -p "$work"
  (
    cd "$work"
    apt-get "${apt[@]}" source --download-only "libyaml/trixie"
    tar -xf libyaml_*.orig.tar.* --strip-components=1
  )
  grep -q "$libyaml_version" "$work/CMakeLists.txt" || grep -q "$libyaml_version" "$work/announcement.msg"
  mkdir -p third_party/libyaml.new
  mv "$work"/{src,include,License} third_party/libyaml.new
  mv third_party/libyaml.new third_party/libyaml
  rm -r "$work"
}

# ------------------------------------------------------------------- Python
python_tools() {
  local python=/usr/bin/python3   # Debian's own: a python of the user's may lack venv
  rm -rf .venv
  "$python" -m venv .venv
  # The browser is Debian's; playwright must not fetch one of its own.
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 \
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
}
