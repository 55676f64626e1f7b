# What is found, and where things are, stand_in.sh tells; `A && B || C` is meant as it stands.
# shellcheck shell=sh disable=SC2154,SC2015
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

# Finds the tags of the first specification, [{Key=K,Value=V},...], as the real one tells them.
tags() {
    option --tag-specifications "$@"
    rest=${found#*Tags=\[}
    found=
    while :; do
        case $rest in
        *\}*) ;;
        *) return ;;
        esac
        tag=${rest%%\}*}
        rest=${rest#*\}}
        tag=${tag#*\{Key=}
        found="$found${found:+, }{\"Key\": \"${tag%%,*}\", \"Value\": \"${tag#*,Value=}\"}"
    done
}

# A new thing: its kind, the name of its identifier, and what else is told of it.
new() {
    id=$1-$count
    echo "{\"$2\": \"$id\", $3 \"Tags\": [$marks]}" >"$things/$1+$id"
    echo "{\"$2\": \"$id\"}"
}

named() {
    ! is_there "$things/$1+$3" || fail "An error occurred (Invalid$2.Duplicate) when calling: $3"
    echo "{\"$2\": \"$3\", \"Tags\": [$marks]}" >"$things/$1+$3"
}

must() {
    is_there "$things/$1+$2" || fail "An error occurred (Invalid$1.NotFound) when calling the operation: '$2' does not exist"
}

# Has these be the attachments of a gateway, which is there.
attach() {
    is_there "$things/$1"
    behind=${found#*'"Attachments": ['}
    echo "${found%%'"Attachments": ['*}\"Attachments\": [$2]${behind#*]}" >"$things/$1"
}

make() {
    tags "$@"
    marks=$found
    option --vpc-id "$@"
    vpc=$found
    case $verb in
    create-vpc) new vpc VpcId '"State": "available",' ;;
    create-internet-gateway) new igw InternetGatewayId '"Attachments": [],' ;;
    attach-internet-gateway)
        must vpc "$vpc"
        ! any igw "\"VpcId\": \"$vpc\"" || fail "An error occurred (Resource.AlreadyAssociated)"
        option --internet-gateway-id "$@"
        attach "igw+$found" "{\"VpcId\": \"$vpc\"}"
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
        option --group-id "$@"
        group=$found
        must sg "$group"
        new sgr SecurityGroupRuleId "\"GroupId\": \"$group\","
        ;;
    create-route)
        option --route-table-id "$@"
        echo '{}' >"$things/route+$found"
        ;;
    import-key-pair)
        option --key-name "$@"
        named key KeyName "$found"
        option --public-key-material "$@"
        read -r key <"${found#fileb://}"
        printf '%s\n' "$key" >"$STAND_IN/key"
        ;;
    create-placement-group)
        option --group-name "$@"
        named placement GroupName "$found"
        ;;
    run-instances) instance "$@" ;;
    esac
}

instance() {
    option --client-token "$@"
    token=$found
    ! any i "\"ClientToken\": \"$token\"" || return
    option --network-interfaces "$@"
    subnet=${found#*SubnetId=}
    subnet=${subnet%%,*}
    group=${found#*Groups=}
    group=${group%%,*}
    must subnet "$subnet"
    must sg "$group"
    number=${token##*-}
    option --key-name "$@"
    must key "$found"
    read -r key <"$STAND_IN/key"
    boot "$number" admin "$key"
    address "$number"
    option --placement "$@"
    about="\"State\": {\"Name\": \"running\"}, \"ClientToken\": \"$token\", \"EnaSupport\": true,"
    about="$about \"SubnetId\": \"$subnet\", \"of\": \"$group\", \"placement\": \"$found\","
    new i InstanceId "$about \"PrivateIpAddress\": \"$internal\", \"PublicIpAddress\": \"$external\","
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
        *route.destination*) is_there "$things/route+rtb-1" || { echo '{"RouteTables": []}'; return; } ;;
        esac
        echo '{"RouteTables": [{"RouteTableId": "rtb-1"}]}'
        return
        ;;
    esac
    # In place of all words those of the filters by a tag's value, as they stand in a thing's file.
    for word in "$@"; do
        shift
        case $word in
        Name=tag:*)
            key=${word#Name=tag:}
            set -- "$@" "{\"Key\": \"${key%%,*}\", \"Value\": \"${word##*Values=}\"}"
            ;;
        esac
    done
    case $verb in
    describe-vpcs) list Vpcs vpc "$@" ;;
    describe-internet-gateways) list InternetGateways igw "$@" ;;
    describe-subnets) list Subnets subnet "$@" ;;
    describe-security-groups) list SecurityGroups sg "$@" ;;
    describe-security-group-rules) list SecurityGroupRules sgr "$@" ;;
    describe-key-pairs) list KeyPairs key "$@" ;;
    describe-placement-groups) list PlacementGroups placement "$@" ;;
    describe-vpc-peering-connections) echo '{"VpcPeeringConnections": []}' ;;
    describe-instances)
        printf '{"Reservations": ['
        list Instances i "$@"
        echo ']}'
        ;;
    esac
}

# Prints the things of a kind, as `all` does, under their name.
list() {
    printf '{"%s": [' "$1"
    shift
    all "$@"
    echo ']}'
}

busy() {
    fail "An error occurred (DependencyViolation) when calling the operation: it has dependencies"
}

remove() {
    case $verb in
    terminate-instances) kind=i option=--instance-ids ;;
    delete-vpc) kind=vpc option=--vpc-id ;;
    delete-subnet) kind=subnet option=--subnet-id ;;
    delete-security-group) kind=sg option=--group-id ;;
    delete-internet-gateway | detach-internet-gateway) kind=igw option=--internet-gateway-id ;;
    delete-key-pair) kind=key option=--key-name ;;
    delete-placement-group) kind=placement option=--group-name ;;
    esac
    option "$option" "$@"
    id=$found
    one=$kind+$id
    is_there "$things/$one" || fail "An error occurred (InvalidID.NotFound) when calling the operation: '$id' does not exist"
    text=$found
    case $verb in
    delete-vpc)
        ! any subnet "$id" && ! any sg "$id" && ! any igw "\"VpcId\": \"$id\"" || busy
        for route in "$things"/route+*; do ! is_there "$route" || : >"$route"; done
        ;;
    delete-subnet | delete-placement-group) ! any i "[\"=]$id\"" || busy ;;
    delete-security-group)
        ! any i "\"$id\"" || busy
        for rule in "$things"/sgr+*; do
            is_there "$rule" || continue
            case $found in *"\"$id\""*) : >"$rule" ;; esac
        done
        ;;
    delete-internet-gateway) case $text in *'"VpcId"'*) busy ;; esac ;;
    detach-internet-gateway)
        attach "$one" ''
        return
        ;;
    terminate-instances)
        token=${text#*'"ClientToken": "'}
        token=${token%%\"*}
        halt "${token##*-}"
        ;;
    esac
    : >"$things/$one"
    echo '{}'
}
