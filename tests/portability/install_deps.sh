#!/bin/sh
# Installs what `make portability` builds and tests with: nearly 1 GB of cross compilers and emulators, for Debian and Ubuntu.
set -eu

command -v apt-get >/dev/null || {
    echo "portability-deps: no apt-get here; rows of make portability whose tools are missing are skipped" >&2
    exit 1
}
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# gcc-multilib would conflict with the cross compilers; gcc-12-multilib does not.
packages="gcc g++ gcc-12-multilib clang clang-tidy cppcheck tcc make binutils libc6-dev mingw-w64 wine wine64 qemu-user"
for target in aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu s390x-linux-gnu arm-none-eabi; do
    packages="$packages gcc-$target"
done
for target in arm64 armhf riscv64 s390x; do
    packages="$packages libc6-dev-$target-cross"
done
packages="$packages libnewlib-arm-none-eabi qemu-system-arm emscripten"
command -v node >/dev/null || packages="$packages nodejs"
as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
# shellcheck disable=SC2086 # a list of words
as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages >/dev/null
