#!/bin/bash
# Installs what building and testing need, and nothing twice. Called by ./dev.
#
# Debian 12 and 13. Everything comes through apt and pip as this machine has
# them set up: packages that the release itself lacks come from another suite of
# the *same* mirror, through a private apt configuration under .cache/, so the
# system's own list of sources stays as it was.
#
# Output goes to .cache/setup.log; the terminal gets one line a step, and the
# end of the log if a step fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD cache=$PWD/.cache log=$PWD/.cache/setup.log
mkdir -p "$cache"

say() { echo "setup: $*" >&2; }

step() { # step TEXT COMMAND...
  say "$1"
  shift
  if ! "$@" >>"$log" 2>&1; then
    tail -n 25 "$log" >&2
    say "failed; the whole log is $log"
    exit 1
  fi
}

# A stamp names the state of the files that decide what is installed. With the
# right stamp only a few things that people delete by hand are looked at.
stamp=$(find tools/setup requirements.txt -type f ! -name "*.pyc" | LC_ALL=C sort | xargs cat | sha256sum | cut -d" " -f1)
complete() {
  [ "$(cat "$cache/setup.stamp" 2>/dev/null)" = "$stamp" ] &&
    [ -x .venv/bin/python ] && [ -f third_party/imgui/imgui.h ] &&
    [ -f third_party/implot/implot.h ] && [ -f third_party/catch2/catch_amalgamated.cpp ] &&
    [ -f third_party/libyaml/include/yaml.h ] &&
    command -v cmake ninja g++ ccache emcc node tsc chromium brotli clang-format-19 >/dev/null
}
complete && exit 0

: >"$log"
. tools/setup/debian.sh

# ---------------------------------------------------------------- packages
packages=(
  ca-certificates git xz-utils                      # to fetch and unpack
  cmake ninja-build g++ ccache clang-format-19       # to build
  python3 python3-venv                              # presets, tests, server
  nlohmann-json3-dev libcli11-dev                   # JSON; command line
  libtomlplusplus-dev                               # trainers' configurations
  libglfw3-dev libgl-dev                            # the page as a desktop window
  openmpi-bin libopenmpi-dev                        # measuring between hosts
  nodejs chromium xvfb xauth                        # the page and module under test
  node-typescript                                   # the module's types under test
  fonts-inter fonts-jetbrains-mono                  # the page's fonts
  brotli iproute2 valgrind debootstrap              # sizes, shaped links, slow tests
  clang-19 libclang-rt-19-dev                       # fuzzing, a slow test
)
release=$(. /etc/os-release && echo "${VERSION_ID:-}")
case "$(. /etc/os-release && echo "$ID")-$release" in
  debian-12) catch2=(catch2/bookworm-backports libcatch2-dev/bookworm-backports) emscripten=emscripten/trixie ;;
  debian-13) catch2=(catch2 libcatch2-dev) emscripten=emscripten ;;
  *)
    say "Debian 12 and 13 only. Elsewhere install these by hand and build with"
    say "the CMake presets (CONTRIBUTING.md): ${packages[*]}, Catch2 v3, Emscripten >= 3.1.69"
    exit 1
    ;;
esac

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
# Debian 12's own Catch2 is version 2, with other header names.
installed libcatch2-dev 3 || missing+=("${catch2[@]}")
# Any recent enough emcc on the PATH will do, the user's own emsdk first of all.
emcc_is_recent || missing+=("$emscripten")

if [ ${#missing[@]} -gt 0 ]; then
  become_root "${missing[@]}"
  step "apt: lists of packages" apt_update
  step "apt: ${missing[*]}" apt_install "${missing[@]}"
fi

# ------------------------------------------------------- beside the packages
fix_debian_emscripten
[ -f third_party/catch2/catch_amalgamated.cpp ] ||
  step "Catch2 in one file (for WebAssembly)" fetch_catch2
[ -f third_party/libyaml/include/yaml.h ] ||
  step "libyaml" fetch_libyaml

if [ "$(cat .venv/stamp 2>/dev/null)" != "$(sha256sum <requirements.txt)" ]; then
  step "Python tools in .venv" python_tools
  sha256sum <requirements.txt >.venv/stamp
fi

[ -f third_party/imgui/imgui.h ] && [ -f third_party/implot/implot.h ] ||
  step "Dear ImGui and ImPlot" tools/setup/fetch_imgui.sh

echo "$stamp" >"$cache/setup.stamp"
say "done"
