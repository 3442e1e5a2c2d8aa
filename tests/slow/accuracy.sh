#!/bin/bash
# docs/accuracy.json with all fits made anew: a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --build --preset release --target wireplan wireplan_fit_step
exec .venv/bin/python tools/accuracy.py --check
