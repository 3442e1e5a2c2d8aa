#!/bin/bash
# Dear ImGui and ImPlot, as source, into third_party/.
#
# No Debian release has them in a form that compiles to WebAssembly, but the
# Python package imgui-bundle carries both, unmodified but for hooks that do
# nothing unless set. Its source distribution is fetched by pip, which checks
# the hash; only the two folders and their licences are kept.
#
#   imgui-bundle 1.93.0: Dear ImGui 1.93.0 (docking), ImPlot 1.1 WIP
#
# pip insists on asking a source distribution for its metadata before it hands
# it over, which would install a build system and configure the whole package
# (half a minute). metadata_only/ answers that question in its place.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=.cache/imgui
rm -rf $work
mkdir -p $work third_party

echo 'imgui-bundle==1.93.0 --hash=sha256:10ad1dab8258a6787b4f07bb926b08d0efc648a7906242568c8dd778c5e719bf' >$work/wanted.txt
PYTHONPATH=$PWD/tools/setup/metadata_only \
  .venv/bin/python -m pip download --disable-pip-version-check --quiet --no-deps --no-build-isolation \
  --no-binary :all: --require-hashes -r $work/wanted.txt -d $work

tar -xzf $work/*.tar.gz -C $work --strip-components=1 --wildcards \
  '*/external/imgui/imgui/*' '*/external/implot/implot/*'
for name in imgui implot; do
  rm -rf third_party/$name
  mv $work/external/$name/$name third_party/$name
done
# What is not compiled is not kept.
rm -rf third_party/imgui/{docs,examples,.github} third_party/implot/{demo,.github}
rm -r $work
