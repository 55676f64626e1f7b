# shellcheck shell=sh
# az's part of the stand-in. A thing's file is KIND+NAME; all lie in the one group.

act() {
    kind=
    while [ $# -gt 0 ]; do
        case $1 in
        create | show | delete | list | get-instance-view) break ;;
        esac
        kind=$kind-$1
        shift
    done
    verb=$1
    shift
    name=$(option --name "$@")
    nsg=$(option --nsg-name "$@")$(option --vnet-name "$@")
    [ "$kind" != -network-nic ] || nsg=
    file=$things/$kind+$nsg$name
    case $kind-$verb in
    -group-create)
        marks=$(echo "$*" | sed 's/.*--tags //; s/ --.*//; s/ /", "/g; s/=/": "/g')
        echo "{\"name\": \"$name\", \"tags\": {\"$marks\"}, \"properties\": {\"provisioningState\": \"Succeeded\"}}" >"$file"
        ;;
    -group-show) [ -f "$file" ] && cat "$file" || fail "(ResourceGroupNotFound) Resource group '$name' could not be found." ;;
    -group-delete)
        [ -f "$file" ] || fail "(ResourceGroupNotFound) Resource group '$name' could not be found."
        for thing in "$things"/-vm+*; do [ ! -f "$thing" ] || halt "${thing##*-}"; done
        rm "$things"/*
        ;;
    -group-list) echo "[$(all -group sonde-run)]" ;;
    *-create) make "$@" ;;
    *-show | *-get-instance-view)
        [ -f "$file" ] && cat "$file" || fail "(ResourceNotFound) The Resource '$name' under resource group 'g' was not found."
        ;;
    esac
}

needs() {
    [ -f "$things/$1" ] || fail "(InvalidResourceReference) $1 is not there"
}

make() {
    needs "-group+$(option --resource-group "$@")"
    number=${name##*-}
    more=
    case $kind in
    -network-nic)
        needs "-network-vnet-subnet+$(option --vnet-name "$@")$(option --subnet "$@")"
        needs "-network-public-ip+$(option --public-ip-address "$@")"
        more=", \"enableAcceleratedNetworking\": $(option --accelerated-networking "$@"),
            \"ipConfigurations\": [{\"privateIPAddress\": \"$(address "$number" internal)\"}]"
        ;;
    -network-public-ip) more=", \"ipAddress\": \"$(address "$number" external)\"" ;;
    -network-vnet-subnet) needs "-network-vnet+$(option --vnet-name "$@")" ;;
    -network-nsg-rule) needs "-network-nsg+$(option --nsg-name "$@")" ;;
    -vm)
        needs "-network-nic+$(option --nics "$@")"
        boot "$number" "$(option --admin-username "$@")" "$(option --ssh-key-values "$@")"
        ;;
    esac
    echo "{\"name\": \"$name\", \"provisioningState\": \"Succeeded\"$more}" >"$file"
    # With --no-wait nothing is printed.
    case "$*" in *--no-wait*) ;; *) cat "$file" ;; esac
}
