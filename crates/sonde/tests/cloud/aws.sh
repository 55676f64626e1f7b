# shellcheck shell=sh
# aws' part of the stand-in. A thing's file is KIND+ID, its identifier made of the counter.

act() {
    verb=$2
    shift 2
    case $verb in
    create-* | import-* | run-* | authorize-* | attach-* | accept-*) make "$@" ;;
    describe-*) tell "$@" ;;
    delete-* | terminate-* | detach-*) remove "$@" ;;
    esac
}

# The tags of the first specification, as the real one tells them.
tags() {
    first=$(option --tag-specifications "$@")
    first=${first#*Tags=\[}
    echo "${first%\]}" | sed 's/{Key=\([^,]*\),Value=\([^}]*\)}/{"Key": "\1", "Value": "\2"}/g'
}

# A new thing: its kind, the name of its identifier, and what else is told of it.
new() {
    id=$1-$count
    echo "{\"$2\": \"$id\", $3 \"Tags\": [$marks]}" >"$things/$1+$id"
    echo "{\"$2\": \"$id\"}"
}

named() {
    [ ! -f "$things/$1+$3" ] || fail "An error occurred (Invalid$2.Duplicate) when calling: $3"
    echo "{\"$2\": \"$3\", \"Tags\": [$marks]}" >"$things/$1+$3"
}

must() {
    [ -f "$things/$1+$2" ] || fail "An error occurred (Invalid$1.NotFound) when calling the operation: '$2' does not exist"
}

make() {
    marks=$(tags "$@")
    vpc=$(option --vpc-id "$@")
    case $verb in
    create-vpc) new vpc VpcId '"State": "available",' ;;
    create-internet-gateway) new igw InternetGatewayId '"Attachments": [],' ;;
    attach-internet-gateway)
        must vpc "$vpc"
        file=$things/igw+$(option --internet-gateway-id "$@")
        ! any igw "\"VpcId\": \"$vpc\"" || fail "An error occurred (Resource.AlreadyAssociated)"
        sed -i "s/\"Attachments\": \[\]/\"Attachments\": [{\"VpcId\": \"$vpc\"}]/" "$file"
        ;;
    create-subnet)
        must vpc "$vpc"
        new subnet SubnetId "\"VpcId\": \"$vpc\","
        ;;
    create-security-group)
        must vpc "$vpc"
        new sg GroupId "\"VpcId\": \"$vpc\","
        ;;
    authorize-security-group-ingress)
        must sg "$(option --group-id "$@")"
        new sgr SecurityGroupRuleId "\"GroupId\": \"$(option --group-id "$@")\","
        ;;
    create-route) : >"$things/route+$(option --route-table-id "$@")" ;;
    import-key-pair)
        named key KeyName "$(option --key-name "$@")"
        material=$(option --public-key-material "$@")
        cat "${material#fileb://}" >"$STAND_IN/key"
        ;;
    create-placement-group) named placement GroupName "$(option --group-name "$@")" ;;
    run-instances) instance "$@" ;;
    esac
}

instance() {
    token=$(option --client-token "$@")
    ! any i "\"ClientToken\": \"$token\"" || return
    interface=$(option --network-interfaces "$@")
    subnet=${interface#*SubnetId=}
    subnet=${subnet%%,*}
    group=${interface#*Groups=}
    group=${group%%,*}
    must subnet "$subnet"
    must sg "$group"
    number=${token##*-}
    must key "$(option --key-name "$@")"
    boot "$number" admin "$(cat "$STAND_IN/key")"
    new i InstanceId "\"State\": {\"Name\": \"running\"}, \"ClientToken\": \"$token\", \"SubnetId\": \"$subnet\",
        \"of\": \"$group\", \"placement\": \"$(option --placement "$@")\", \"EnaSupport\": true,
        \"PrivateIpAddress\": \"$(address "$number" internal)\", \"PublicIpAddress\": \"$(address "$number" external)\","
}

# The words of all filters by a tag's value, as they stand in a thing's file.
tagged() {
    for word in "$@"; do
        case $word in
        Name=tag:*)
            key=${word#Name=tag:}
            key=${key%%,*}
            echo "{\"Key\":.\"$key\",.\"Value\":.\"${word##*Values=}\"}"
            ;;
        esac
    done
}

tell() {
    case $verb in
    describe-regions)
        echo '{"Regions": [{"RegionName": "us-east-1"}]}'
        return
        ;;
    describe-instance-types)
        echo '{"InstanceTypes": [{"InstanceType": "x", "VCpuInfo": {"DefaultVCpus": 2}}]}'
        return
        ;;
    describe-route-tables)
        case "$*" in
        *route.destination*) [ -f "$things/route+rtb-1" ] || { echo '{"RouteTables": []}'; return; } ;;
        esac
        echo '{"RouteTables": [{"RouteTableId": "rtb-1"}]}'
        return
        ;;
    esac
    # shellcheck disable=SC2046
    set -- $(tagged "$@")
    case $verb in
    describe-vpcs) echo "{\"Vpcs\": [$(all vpc "$@")]}" ;;
    describe-internet-gateways) echo "{\"InternetGateways\": [$(all igw "$@")]}" ;;
    describe-subnets) echo "{\"Subnets\": [$(all subnet "$@")]}" ;;
    describe-security-groups) echo "{\"SecurityGroups\": [$(all sg "$@")]}" ;;
    describe-security-group-rules) echo "{\"SecurityGroupRules\": [$(all sgr "$@")]}" ;;
    describe-key-pairs) echo "{\"KeyPairs\": [$(all key "$@")]}" ;;
    describe-placement-groups) echo "{\"PlacementGroups\": [$(all placement "$@")]}" ;;
    describe-vpc-peering-connections) echo '{"VpcPeeringConnections": []}' ;;
    describe-instances) echo "{\"Reservations\": [{\"Instances\": [$(all i "$@")]}]}" ;;
    esac
}

busy() {
    fail "An error occurred (DependencyViolation) when calling the operation: it has dependencies"
}

remove() {
    case $verb in
    terminate-instances) one=i+$(option --instance-ids "$@") ;;
    delete-vpc) one=vpc+$(option --vpc-id "$@") ;;
    delete-subnet) one=subnet+$(option --subnet-id "$@") ;;
    delete-security-group) one=sg+$(option --group-id "$@") ;;
    delete-internet-gateway) one=igw+$(option --internet-gateway-id "$@") ;;
    delete-key-pair) one=key+$(option --key-name "$@") ;;
    delete-placement-group) one=placement+$(option --group-name "$@") ;;
    detach-internet-gateway) one=igw+$(option --internet-gateway-id "$@") ;;
    esac
    id=${one#*+}
    [ -f "$things/$one" ] || fail "An error occurred (InvalidID.NotFound) when calling the operation: '$id' does not exist"
    case $verb in
    delete-vpc)
        ! any subnet "$id" && ! any sg "$id" && ! any igw "\"VpcId\": \"$id\"" || busy
        rm -f "$things"/route+*
        ;;
    delete-subnet | delete-placement-group) ! any i "[\"=]$id\"" || busy ;;
    delete-security-group)
        ! any i "\"$id\"" || busy
        for rule in "$things"/sgr+*; do [ ! -f "$rule" ] || ! grep -q "\"$id\"" "$rule" || rm "$rule"; done
        ;;
    delete-internet-gateway) ! grep -q '"VpcId"' "$things/$one" || busy ;;
    detach-internet-gateway)
        sed -i 's/"Attachments": \[[^]]*\]/"Attachments": []/' "$things/$one"
        return
        ;;
    esac
    if [ "$verb" = terminate-instances ]; then
        token=$(sed -n 's/.*"ClientToken": "\([^"]*\)".*/\1/p' "$things/$one")
        halt "${token##*-}"
    fi
    rm "$things/$one"
    echo '{}'
}
