# What is found, and where things are, stand_in.sh tells; `A && B || C` is meant as it stands.
# shellcheck shell=sh disable=SC2154,SC2015
# gcloud's part of the stand-in. A thing's file is KIND+NAME.

# Name and kind are told apart by where the verb stands.
act() {
    kind=
    while [ $# -gt 0 ]; do
        case $1 in
        create | describe | delete | list) break ;;
        esac
        kind=$kind-$1
        shift
    done
    verb=$1
    shift
    [ "$verb $1" != "create group-placement" ] || shift
    name=${1:-}
    file=$things/$kind+$name
    case $verb in
    create) make "$@" ;;
    describe)
        [ "$kind" != -compute-machine-types ] || { echo '{"guestCpus": 4}'; return; }
        show "$file" || fail "(gcloud$kind.describe) Could not fetch resource: - The resource 'projects/p/$name' was not found"
        ;;
    delete)
        is_there "$file" || fail "(gcloud$kind.delete) Could not fetch resource: - The resource 'projects/p/$name' was not found"
        unused "$@"
        [ "$kind" != -compute-instances ] || halt "${name##*-}"
        : >"$file"
        ;;
    list)
        printf '['
        all "$kind"
        echo ']'
        ;;
    esac
}

make() {
    ! is_there "$file" || fail "(gcloud$kind.create) Could not fetch resource: - The resource 'projects/p/$name' already exists"
    option --description "$@"
    described=$found
    option --region "$@"
    region=$found
    case $kind in
    -compute-instances) instance "$@" ;;
    -compute-networks-subnets | -compute-firewall-rules)
        option --network "$@"
        network=$found
        is_there "$things/-compute-networks+$network" || fail "The resource 'projects/p/global/networks/$network' was not found"
        echo "{\"name\": \"$name\", \"description\": \"$described\", \"of\": \"$network\", \"region\": \"https://x/regions/$region\"}" >"$file"
        ;;
    *) echo "{\"name\": \"$name\", \"description\": \"$described\", \"region\": \"https://x/regions/$region\"}" >"$file" ;;
    esac
    show "$file"
}

instance() {
    option --zone "$@"
    zone=$found
    option --network-interface "$@"
    subnet=${found#*subnet=}
    subnet=${subnet%%,*}
    nic=${found#*nic-type=}
    is_there "$things/-compute-networks-subnets+$subnet" || fail "The resource 'projects/p/subnetworks/$subnet' was not found"
    option --resource-policies "$@"
    policy=$found
    [ -z "$policy" ] || is_there "$things/-compute-resource-policies+$policy" || fail "The resource 'projects/p/$policy' was not found"
    number=${name##*-}
    option --metadata "$@"
    login=${found##*ssh-keys=}
    boot "$number" "${login%%:*}" "${login#*:}"
    address "$number"
    option --labels "$@"
    members "$found" ,
    about="\"name\": \"$name\", \"status\": \"RUNNING\", \"zone\": \"https://x/zones/$zone\", \"labels\": {$found}, \"of\": \"$subnet $policy\""
    outside="\"accessConfigs\": [{\"natIP\": \"$external\"}]"
    echo "{$about, \"networkInterfaces\": [{\"networkIP\": \"$internal\", \"nicType\": \"$nic\", $outside}]}" >"$file"
}

unused() {
    case $kind in
    -compute-networks)
        ! any -compute-networks-subnets "\"of\": \"$name\"" && ! any -compute-firewall-rules "\"of\": \"$name\"" ||
            fail "The network resource 'projects/p/global/networks/$name' is already being used by 'x'"
        ;;
    -compute-networks-subnets | -compute-resource-policies)
        ! any -compute-instances "\"of\": *$name" || fail "The resource '$name' is already being used by 'x'"
        ;;
    esac
}
