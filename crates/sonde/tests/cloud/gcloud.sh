# shellcheck shell=sh
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
        [ -f "$file" ] || fail "(gcloud$kind.describe) Could not fetch resource: - The resource 'projects/p/$name' was not found"
        cat "$file"
        ;;
    delete)
        [ -f "$file" ] || fail "(gcloud$kind.delete) Could not fetch resource: - The resource 'projects/p/$name' was not found"
        unused "$@"
        [ "$kind" != -compute-instances ] || halt "${name##*-}"
        rm "$file"
        ;;
    list) echo "[$(all "$kind")]" ;;
    esac
}

make() {
    [ ! -f "$file" ] || fail "(gcloud$kind.create) Could not fetch resource: - The resource 'projects/p/$name' already exists"
    described=$(option --description "$@")
    region=$(option --region "$@")
    case $kind in
    -compute-instances) instance "$@" ;;
    -compute-networks-subnets | -compute-firewall-rules)
        network=$(option --network "$@")
        [ -f "$things/-compute-networks+$network" ] || fail "The resource 'projects/p/global/networks/$network' was not found"
        echo "{\"name\": \"$name\", \"description\": \"$described\", \"of\": \"$network\", \"region\": \"https://x/regions/$region\"}" >"$file"
        ;;
    *) echo "{\"name\": \"$name\", \"description\": \"$described\", \"region\": \"https://x/regions/$region\"}" >"$file" ;;
    esac
    cat "$file"
}

instance() {
    zone=$(option --zone "$@")
    interface=$(option --network-interface "$@")
    subnet=${interface#*subnet=}
    subnet=${subnet%%,*}
    nic=${interface#*nic-type=}
    [ -f "$things/-compute-networks-subnets+$subnet" ] || fail "The resource 'projects/p/subnetworks/$subnet' was not found"
    policy=$(option --resource-policies "$@")
    [ -z "$policy" ] || [ -f "$things/-compute-resource-policies+$policy" ] || fail "The resource 'projects/p/$policy' was not found"
    number=${name##*-}
    login=$(option --metadata "$@")
    login=${login##*ssh-keys=}
    boot "$number" "${login%%:*}" "${login#*:}"
    labels=$(option --labels "$@" | sed 's/=/": "/g; s/,/", "/g')
    cat >"$file" <<JSON
{"name": "$name", "status": "RUNNING", "zone": "https://x/zones/$zone", "labels": {"$labels"}, "of": "$subnet $policy",
 "networkInterfaces": [{"networkIP": "$(address "$number" internal)", "nicType": "$nic",
 "accessConfigs": [{"natIP": "$(address "$number" external)"}]}]}
JSON
}

unused() {
    case $kind in
    -compute-networks)
        ! any -compute-networks-subnets "\"of\": \"$name\"" && ! any -compute-firewall-rules "\"of\": \"$name\"" ||
            fail "The network resource 'projects/p/global/networks/$name' is already being used by 'x'"
        ;;
    -compute-networks-subnets | -compute-resource-policies)
        ! any -compute-instances "\"of\": .*$name" || fail "The resource '$name' is already being used by 'x'"
        ;;
    esac
}
