# shellcheck shell=sh disable=SC2154
# kubectl's part of the stand-in: one node, on which every set has a pod that is ready at once.

act() {
    verb=$1
    option --selector "$@"
    run=${found#sonde-run=}
    case $verb in
    apply)
        cat >"$STAND_IN/applied"
        grep -o '"name": "sonde-[^"]*"' "$STAND_IN/applied" | sort -u | while read -r _ name; do
            name=${name#\"}
            echo "${name%\"}" >"$things/set+${name%\"}"
        done
        ;;
    get)
        case $2 in
        daemonsets,deployments) echo "{\"items\": [$(each_set set_of)]}" ;;
        jobs) echo '{"items": [{"status": {"succeeded": 1}}]}' ;;
        pods) echo "{\"items\": [$(each_set pod_of)]}" ;;
        nodes) echo '{"items": [{"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z1"}}, "status": {"capacity": {"cpu": "8"}}}]}' ;;
        esac
        ;;
    logs) echo '{"the": "record"}' ;;
    delete) rm -f "$things/set+sonde-$run-"* ;;
    esac
}

each_set() {
    between=
    for file in "$things/set+sonde-$run-"*; do
        [ -f "$file" ] || continue
        printf '%s' "$between"
        read -r name <"$file"
        $1 "$name"
        between=,
    done
}

set_of() {
    ready=1
    [ ! -f "$STAND_IN/unready" ] || ready=0
    echo "{\"metadata\": {\"name\": \"$1\", \"generation\": 1}, \"status\": {\"observedGeneration\": 1,
        \"desiredNumberScheduled\": 1, \"numberReady\": $ready}}"
}

pod_of() {
    state='"conditions": [{"type": "Ready", "status": "True"}]'
    [ ! -f "$STAND_IN/unready" ] || state='"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]'
    echo "{\"metadata\": {\"name\": \"$1-x\", \"namespace\": \"lab\", \"labels\": {\"sonde-run\": \"$run\"}},
        \"spec\": {\"nodeName\": \"n1\"}, \"status\": {\"podIP\": \"10.1.0.7\", $state}}"
}
