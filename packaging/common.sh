# Sourced by the scripts in the directories beside it: the version, the
# architecture, the program for it, and the tree that every package holds.
# $ARCH is amd64 or arm64, this machine's by default; $VERSION replaces that of
# Cargo.toml.
# shellcheck shell=bash disable=SC2034 # who sources it uses the rest
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."

readonly REPOSITORY=$PWD
version=${VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)}
export CARGO_TARGET_DIR=$REPOSITORY/target
# Files of equal source are equal. Compilers are not told, or every commit would
# have libraries in C compiled anew.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}

case $(uname -m) in
    x86_64) readonly HOST_ARCH=amd64 ;;
    aarch64) readonly HOST_ARCH=arm64 ;;
    *) echo "packages are made on x86-64 and arm64, not on $(uname -m)" >&2 && exit 3 ;;
esac
case ${ARCH:=$HOST_ARCH} in
    amd64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *) echo "ARCH is amd64 or arm64, not '$ARCH'" >&2 && exit 2 ;;
esac
tools=$machine-linux-gnu
work=$REPOSITORY/target/packages/$ARCH

# What a package of programs for $ARCH has in it.
readonly PROGRAMS=(
    --package takt --bin takt --package takt-sim --bin takt-sim
    --package takt-dispatch --bin takt-dispatch --package takt-fleet --bin takt-fleet
    --package takt-lab --bin takt-lab
)

# The programs, built; BUILT names takt, and the others lie beside it.
build() {
    env -u SOURCE_DATE_EPOCH cargo build --locked --release "${PROGRAMS[@]}"
    NATIVE=$REPOSITORY/target/release/takt
    BUILT=$NATIVE
    [[ $ARCH != "$HOST_ARCH" ]] || return 0
    local target=$machine-unknown-linux-gnu
    local linker=CARGO_TARGET_${target^^}_LINKER
    env -u SOURCE_DATE_EPOCH "${linker//-/_}=$tools-gcc" "CC_${target//-/_}=$tools-gcc" \
        cargo build --locked --release "${PROGRAMS[@]}" --target "$target"
    BUILT=$REPOSITORY/target/$target/release/takt
}

# stage DIR TAKT: all that is installed, below DIR, with /usr as the prefix. The
# programs beside takt are, too.
stage() {
    rm -rf "$1"
    mkdir -p "$1" "$work"
    # The modes of a package do not depend on who makes it.
    umask 022
    local name program
    rm -f "$work"/takt-{sim,dispatch,fleet,lab}
    for name in takt takt-sim takt-dispatch takt-fleet takt-lab; do
        program=${2%/*}/$name
        [[ ! -e $program ]] ||
            "$tools-strip" --strip-unneeded --remove-section=.comment -o "$work/$name" "$program"
    done
    PREFIX=/usr DESTDIR=$1 scripts/install "$work/takt" "$NATIVE"
    find "$1/usr/share/man" -type f -exec gzip -9n {} +
}

# The program with every library in it, stripped; STATIC names it. Users' names
# are then those of /etc/passwd: other sources are libraries of the host.
build_static() {
    local target=$machine-unknown-linux-gnu
    local linker=CARGO_TARGET_${target^^}_LINKER flags=CARGO_TARGET_${target^^}_RUSTFLAGS
    env -u SOURCE_DATE_EPOCH "${linker//-/_}=$tools-gcc" "CC_${target//-/_}=$tools-gcc" \
        "${flags//-/_}=-C target-feature=+crt-static" \
        "LIBBPF_SYS_LIBRARY_PATH_${target//-/_}=/usr/lib/$tools" \
        cargo build --locked --release --package takt --bin takt --target "$target" \
        --features static --target-dir target/static/build
    STATIC=$(named target/static takt)
    "$tools-strip" --strip-unneeded --remove-section=.comment -o "$STATIC" \
        "target/static/build/$target/release/takt"
}

# named DIR NAME: where a file for $ARCH is put, made ready: in DIR, or below it
# if it is for another architecture than this machine's.
named() {
    local directory=$REPOSITORY/$1
    [[ $ARCH == "$HOST_ARCH" ]] || directory+=/$ARCH
    mkdir -p "$directory"
    echo "$directory/$2"
}
