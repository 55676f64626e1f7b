# What is found, and where things are, stand_in.sh tells; `A && B || C` is meant as it stands.
# shellcheck shell=sh disable=SC2154,SC2015
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
    option --name "$@"
    name=$found
    option --nsg-name "$@"
    within=$found
    option --vnet-name "$@"
    within=$within$found
    [ "$kind" != -network-nic ] || within=
    file=$things/$kind+$within$name
    case $kind-$verb in
    -group-create)
        marks="$* --"
        marks=${marks#*--tags }
        members "${marks%% --*}" ' '
        echo "{\"name\": \"$name\", \"tags\": {$found}, \"properties\": {\"provisioningState\": \"Succeeded\"}}" >"$file"
        ;;
    -group-show) show "$file" || fail "(ResourceGroupNotFound) Resource group '$name' could not be found." ;;
    -group-delete)
        is_there "$file" || fail "(ResourceGroupNotFound) Resource group '$name' could not be found."
        for thing in "$things/"*; do
            case $thing in "$things/-vm+"*) ! is_there "$thing" || halt "${thing##*-}" ;; esac
            : >"$thing"
        done
        ;;
    -group-list)
        printf '['
        all -group sonde-run
        echo ']'
        ;;
    *-create) make "$@" ;;
    *-show | *-get-instance-view)
        show "$file" || fail "(ResourceNotFound) The Resource '$name' under resource group 'g' was not found."
        ;;
    esac
}

needs() {
    is_there "$things/$1" || fail "(InvalidResourceReference) $1 is not there"
}

make() {
    option --resource-group "$@"
    needs "-group+$found"
    number=${name##*-}
    more=
    case $kind in
    -network-nic)
        option --vnet-name "$@"
        vnet=$found
        option --subnet "$@"
        needs "-network-vnet-subnet+$vnet$found"
        option --public-ip-address "$@"
        needs "-network-public-ip+$found"
        address "$number"
        option --accelerated-networking "$@"
        more=", \"enableAcceleratedNetworking\": $found, \"ipConfigurations\": [{\"privateIPAddress\": \"$internal\"}]"
        ;;
    -network-public-ip)
        address "$number"
        more=", \"ipAddress\": \"$external\""
        ;;
    -network-vnet-subnet)
        option --vnet-name "$@"
        needs "-network-vnet+$found"
        ;;
    -network-nsg-rule)
        option --nsg-name "$@"
        needs "-network-nsg+$found"
        ;;
    -vm)
        option --nics "$@"
        needs "-network-nic+$found"
        option --admin-username "$@"
        user=$found
        option --ssh-key-values "$@"
        boot "$number" "$user" "$found"
        ;;
    esac
    echo "{\"name\": \"$name\", \"provisioningState\": \"Succeeded\"$more}" >"$file"
    # With --no-wait nothing is printed.
    case "$*" in *--no-wait*) ;; *) show "$file" ;; esac
}
