#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/fleet.md followed in a fresh system, whose packages come first. A build of the same release, with DuckDB's library
# from npm (tests/formats/clients.py), can be shared; else both are made there.
#
#   scripts/in-chroot [--share BUILD] bookworm tests/formats/fleet_recipe.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
packages="clickhouse-server clickhouse-client golang-go curl hostname"
if [ $# -gt 0 ]; then
	packages="$packages python3 nodejs binutils libdw1 libzstd1 zlib1g libzydis4.0 libstdc++6"
else
	scripts/setup build
	packages="$packages npm g++ libcmocka-dev"
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
if [ $# -eq 0 ]; then
	[ -d build ] || meson setup build --buildtype=release -Dtests=enabled -Dengine=disabled
	ninja -C build
fi
python3 tests/formats/fleet_recipe.py --build "$build"
