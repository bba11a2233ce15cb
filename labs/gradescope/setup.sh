#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image of an autograder (make -C labs gradescope LABS=02).
# It installs what the grader needs beside itself: a C compiler with a static C library and, for the other
# architecture, its compiler and qemu-user. For Debian and Ubuntu.
set -euo pipefail
source=${AUTOGRADER:-/autograder}/source
packages="gcc libc6-dev"
if [[ $(cat "$source/arch") == arm64 ]]; then
	packages+=" gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086 # several words
apt-get install -y -q --no-install-recommends $packages
chmod +x "$source/labs"
