# Runs in the lab's machine: three hosts, each with a network namespace and directories of its own,
# with the real takt; the engine is in namespace a. /add has what the test brought.
set -euo pipefail
ulimit -n 4096
fleet=/add/takt-fleet
export HOME=/root TAKT_FLEET_KEY=/tmp/key TAKT_FLEET_ENGINE=nats://10.9.0.100:4222

# A switch between the engine, the operator and the hosts.
ip netns add fleet
in_fleet() { ip netns exec fleet "$@"; }
in_fleet ip link add br0 type bridge
in_fleet ip link set br0 up
in_fleet ip addr add 10.9.0.100/24 dev br0
in_fleet ip link set lo up

mkdir -p /tmp/nats
in_fleet /add/nats-server -js -a 10.9.0.100 -sd /tmp/nats >/tmp/nats.log 2>&1 &
pin=$($fleet key /tmp/key --output json | sed -n 's/.*"pin": "\(.*\)".*/\1/p')

for host in 1 2 3; do
    ip netns add h$host
    ip link add eth0 netns h$host type veth peer name port$host netns fleet
    in_fleet ip link set port$host master br0 up
    ip -n h$host addr add 10.9.0.$host/24 dev eth0
    ip -n h$host link set eth0 up
    ip -n h$host link set lo up
    mkdir -p /tmp/h$host
    cat >/tmp/h$host/run <<HOST
mount -t tmpfs none /run
mount -t bpf none /sys/fs/bpf
exec $fleet agent --identity h$host --pin $pin --label site=lab --state /tmp/h$host/state --takt /usr/bin/takt --period 10s
HOST
    ip netns exec h$host unshare -m bash /tmp/h$host/run >/tmp/h$host/log 2>&1 &
done
sleep 3

show() { for host in 1 2 3; do ip netns exec h$host tc qdisc show dev eth0 | sed "s/^/h$host: /"; done; }
push() { in_fleet $fleet push "$@"; }

cat >/tmp/good.toml <<'POLICY'
[link.eth0]
rate = "100mbit"
backend = "tree"

[[link.eth0.class]]
name = "voice"
match = { proto = "udp", dst_port = 5004 }
rate = "1mbit"
POLICY
# A packet of the engine's connection takes seconds. With takt's own qdisc, which does not send two
# at once; the kernel has one of these, and so has one host at a time.
cat >/tmp/cut.toml <<'POLICY'
[link.eth0]
rate = "100mbit"

[[link.eth0.class]]
name = "engine"
match = { proto = "tcp", dst_port = 4222 }
rate = "1kbit"
POLICY
# The class is gone.
printf '[link.eth0]\nrate = "100mbit"\nbackend = "tree"\n' >/tmp/drop.toml

echo "== good"
push /tmp/good.toml --to all --canary 30% --step 40% --hold 5s --health 'queued(voice) == 0' || echo "exit $?"
show
echo "== drops a class"
push /tmp/drop.toml --to all --canary 30% --step 40% --hold 5s --health 'queued(voice) == 0' && echo "exit 0" || echo "exit $?"
echo "== cuts off"
push /tmp/cut.toml --to all --canary 30% --step 40% --hold 8s && echo "exit 0" || echo "exit $?"
echo "== end"
sleep 3
show
in_fleet $fleet status --hosts
in_fleet $fleet history
cat /tmp/h*/log
