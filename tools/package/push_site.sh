#!/bin/bash
# Publishes a version of the site on a branch that a host serves, as GitHub Pages does with gh-pages:
#
#   push_site.sh wireplan-site-0.1.0.zip [BRANCH [REMOTE]]
#
# Versions that the branch holds stay as they are; publish.py says what is refused.
set -euo pipefail
zip=$(realpath "$1")
branch=${2:-gh-pages}
remote=${3:-origin}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT

git worktree add --quiet --detach "$work/tree"
if git fetch --quiet "$remote" "+refs/heads/$branch:refs/remotes/$remote/$branch" 2>/dev/null; then
  git -C "$work/tree" checkout --quiet --detach "$remote/$branch"
else # the first version
  git -C "$work/tree" checkout --quiet --orphan "first-$branch-$$"
  git -C "$work/tree" rm -rfq .
fi
version=$(python3 "$here/publish.py" "$zip" "$work/tree")
git -C "$work/tree" add --all
if git -C "$work/tree" diff --cached --quiet; then
  echo "$version is published already"
else
  git -C "$work/tree" commit --quiet -m "Wireplan $version"
  git -C "$work/tree" push --quiet "$remote" "HEAD:refs/heads/$branch"
  echo "published $version on $branch"
fi
