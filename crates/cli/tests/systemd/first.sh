#!/bin/sh
# Becomes the lab machine's service manager, with the few targets that units ask for.
units=/etc/systemd/system
mkdir -p $units
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
for target in sysinit basic shutdown multi-user network-online sockets default; do
    printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' $target >$units/$target.target
done
exec /add/systemd --show-status=no --log-target=null
