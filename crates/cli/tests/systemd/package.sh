#!/bin/sh
# The life of Takt's Debian package on a host that runs systemd, told step by step: it is installed,
# upgraded under load, removed and purged.
set -eu

# dpkg's database, and what systemd's own package has in Perl.
mkdir -p /var/lib/dpkg/info /var/lib/dpkg/updates /var/lib/dpkg/triggers /var/log
: >/var/lib/dpkg/status
printf '#!/bin/sh\nexec systemctl "$@"\n' >/usr/bin/deb-systemd-invoke
printf '#!/bin/sh\n' >/usr/bin/deb-systemd-helper
printf '#!/bin/sh\n' >/usr/bin/ldconfig
chmod +x /usr/bin/deb-systemd-* /usr/bin/ldconfig
export PATH=/add:$PATH
dpkg() { command dpkg --force-depends --log=/lab/dpkg.log "$@" >&2; }

of_links() { tc qdisc show dev va; takt status --output json | grep -o '"generation":[^,]*'; }
pid_of_daemon() { systemctl show -P MainPID taktd; }

# It may still be starting.
until systemctl daemon-reload 2>/dev/null; do sleep 0.1; done
rm /usr/bin/takt /usr/bin/taktd
dpkg -i /add/old.deb
echo "installed: $(systemctl is-active takt taktd | xargs), $(takt status | head -n 1)"

printf '[link.va]\nrate = "100mbit"\n[[link.va.class]]\nname = "load"\nrate = "50mbit"\nmatch = { dst_port = 5201 }\n' \
    >/etc/takt/policy.toml
systemctl start takt taktd
of_links >/lab/before
daemon=$(pid_of_daemon)
started=$(systemctl show -P ActiveEnterTimestampMonotonic takt)

ip netns exec b iperf3 -s -D
iperf3 -c 10.0.0.2 -u -b 10M -l 1000 -t 3 >/lab/load &
load=$!
sleep 1
dpkg -i /add/new.deb
# The second policy of the same file, as an administrator would.
systemctl reload takt
wait $load
of_links | cmp - /lab/before && echo "upgraded: the link is untouched"
grep receiver /lab/load | sed 's/.* ms *\([0-9]*\)\/[0-9]* .*/upgraded: \1 packets lost/'
[ "$(systemctl show -P ActiveEnterTimestampMonotonic takt)" = "$started" ] && echo "upgraded: takt.service did not stop"
now=$(pid_of_daemon)
[ "$now" != "$daemon" ] && echo "upgraded: taktd is $(readlink "/proc/$now/exe")"

# A policy on trial is another administrator's to decide.
takt apply /etc/takt/policy.toml --confirm 60s </dev/null >/lab/trial 2>&1 &
until takt status | grep -q 'takt confirm'; do sleep 0.1; done
dpkg -r takt || echo "on trial: not removed, $(systemctl is-active takt taktd | xargs)"
takt confirm >/dev/null

# As an earlier takt may have replaced it: a qdisc that the kernel does not take back.
sed -i 's/"qdisc": null/"qdisc": {"kind":"gone","handle":2166554624,"parent":4294967295,"options":[]}/' /run/takt/links/*/*.json
grep -q '"kind":"gone"' /run/takt/links/*/*.json
dpkg -r takt
tc qdisc show dev va | sed 's/^/removed: /'
[ -e /usr/bin/takt ] || ls /etc/takt | sed 's/^/removed: there is /'
dpkg -P takt
find / -xdev \( -path /proc -o -path /sys -o -path /add -o -path /lab -o -path /usr/bin/takt-lab \) -prune -o \
    -iname '*takt*' -print | sed 's/^/purged: there is /'
ls /sys/fs/bpf | sed 's/^/purged: there is /'
echo purged
