# shellcheck shell=sh disable=SC2154
# Machines that can be logged in to. Where STAND_IN/world names a network namespace, the one that all this runs in, each machine
# is a namespace behind its bridge `cloud`, with an sshd that lets in the user and the key the vendor's program was given, and
# nobody else. Its address within is its own; the one outside is translated by the world, as clouds do it.

world=
[ ! -f "$STAND_IN/world" ] || read -r world <"$STAND_IN/world"

# Starts the machine with this number: its user, the key's line.
boot() {
    [ -n "$world" ] || return 0
    own=$STAND_IN/machines/$1
    space=$world-$1
    mkdir -p "$own/home/.ssh"
    echo "$3" >"$own/home/.ssh/authorized_keys"
    # A user like any other, whom the real machine does not know.
    chown -R 61234:61234 "$own/home"
    { cat /etc/passwd; echo "$2:*:61234:61234::$own/home:/bin/sh"; } >"$own/passwd"
    ssh-keygen -q -t ed25519 -N '' -f "$own/host_key"
    cat >"$own/sshd_config" <<CONFIG
HostKey $own/host_key
AuthorizedKeysFile $own/home/.ssh/authorized_keys
AllowUsers $2
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxSessions 64
MaxStartups 100
CONFIG
    address "$1"
    ip netns add "$space"
    ip link add "m$1" type veth peer name eth0 netns "$space"
    ip link set "m$1" master cloud up
    printf '%s\n' 'link set lo up' "address add $internal/16 dev eth0" 'link set eth0 up' \
        'route add default via 10.64.0.1' | ip -n "$space" -batch -
    # It has a /run and a list of users of its own; it is back when it listens. Echoes are for every user, as on Debian.
    # shellcheck disable=SC2016
    nsenter --net="/run/netns/$space" unshare --mount sh -c '
        mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd && mount --bind "$0/passwd" /etc/passwd &&
        echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range && /usr/sbin/sshd -f "$0/sshd_config" -E "$0/log"' \
        "$own" </dev/null >"$own/said" 2>&1 9>&- || fail "machine $1 does not start: $(cat "$own/said" "$own/log")"
}

# Takes the machine with this number away, and all that runs on it.
halt() {
    [ -n "$world" ] && [ -e "/run/netns/$world-$1" ] || return 0
    # One may end while it is asked for.
    while running=$(ip netns pids "$world-$1") && [ -n "$running" ]; do
        # shellcheck disable=SC2086
        kill -9 $running 2>/dev/null || :
    done
    ip netns delete "$world-$1"
    rm -r "$STAND_IN/machines/$1"
}
