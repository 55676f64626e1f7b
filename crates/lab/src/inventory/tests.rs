//! Every form read as a whole, each fault with its line, and texts that would take for ever or more than memory holds.

use std::collections::BTreeMap;

use logbook::host::{Pod, Reach, Ssh};
use proptest::prelude::*;
use test_case::test_case;

use super::*;

fn read_as(form: Form, text: &str) -> Vec<Host> {
    read(text, "hosts", Some(form)).unwrap_or_else(|error| panic!("{error}: {}", error.hint))
}

/// A host by ssh with what is told of it; addresses are empty where there are none.
fn host(name: &str, to: &str, internal: &str, external: &str, labels: &[(&str, &str)]) -> Host {
    Host {
        name: name.to_owned(),
        reach: Reach::Ssh(ssh(to)),
        internal: internal.parse().ok(),
        external: external.parse().ok(),
        labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        machine: None,
    }
}

fn ssh(to: &str) -> Ssh {
    Ssh { to: to.to_owned(), port: None, key_file: None, options: Vec::new(), through: Vec::new() }
}

#[test]
fn a_plain_list() {
    let text = "
# the table's two
web-1 203.0.113.10 internal=10.0.0.1 zone=us-east1-b
bench@web-2   # by name alone
bench@10.0.0.3 port=2222 key_file='/keys/a key'
db[01:02] zone=x
left 10.77.0.1 namespace=sonde-left machine=here
localhost
";
    let mut third = host("10.0.0.3", "bench@10.0.0.3", "10.0.0.3", "", &[]);
    let reach = Ssh { port: Some(2222), key_file: Some("/keys/a key".to_owned()), ..ssh("bench@10.0.0.3") };
    third.reach = Reach::Ssh(reach);
    let left = Host {
        reach: Reach::Namespace("sonde-left".to_owned()),
        machine: Some("here".to_owned()),
        ..host("left", "", "10.77.0.1", "", &[])
    };
    let local = Host { reach: Reach::Local, ..host("localhost", "", "127.0.0.1", "", &[]) };
    let expected = [
        host("web-1", "203.0.113.10", "10.0.0.1", "203.0.113.10", &[("zone", "us-east1-b")]),
        host("web-2", "bench@web-2", "", "", &[]),
        third,
        host("db01", "db01", "", "", &[("zone", "x")]),
        host("db02", "db02", "", "", &[("zone", "x")]),
        left,
        local,
    ];
    assert_eq!(read_as(Form::List, text), expected);
}

#[test_case("Name,Address,Zone,Price per hour\nweb-1,10.0.0.1,\"us, east\",0.19\nweb-2,2001:db8::2,,\n"; "commas")]
#[test_case("name;address;zone;price_per_hour\nweb-1;10.0.0.1;us, east;0.19\n# no more\nweb-2;2001:db8::2;;\n"; "semicolons")]
#[test_case("\u{feff}name\taddress\tzone\tprice_per_hour\r\nweb-1\t10.0.0.1\tus, east\t0.19\r\nweb-2\t2001:db8::2\t\t\r\n"; "tabs")]
fn a_table(text: &str) {
    let expected = [
        host("web-1", "10.0.0.1", "10.0.0.1", "", &[("zone", "us, east"), ("price_per_hour", "0.19")]),
        host("web-2", "2001:db8::2", "", "2001:db8::2", &[]),
    ];
    assert_eq!(read_as(Form::Csv, text), expected);
    assert_eq!(Form::of("hosts", text), Form::Csv);
}

#[test]
fn beside_a_name_a_host_is_an_address() {
    assert_eq!(read_as(Form::Csv, "host,name\n10.0.0.1,a\n"), [host("a", "10.0.0.1", "10.0.0.1", "", &[])]);
    assert_eq!(read_as(Form::Csv, "host,user\ndb,me\n"), [host("db", "me@db", "", "", &[])]);
}

const INI: &str = "
mail ansible_connection=local # of no group

[web]
web[01:02].example:2222 zone=a   # two of them
[db:vars]
zone = \"of the group\"
ansible_user=postgres
ansible_become_pass=hunter2
db_password=hunter2

[db]
one ansible_host=203.0.113.5 internal_ip=10.0.0.5 zone='its own'
two ansible_ssh_private_key_file=~/.ssh/two ansible_ssh_common_args='-o ProxyJump=bastion -oCompression=no'

[all:vars]
cloud=gcp
ansible_user=root
[east:children]
web
db
[east:vars]
region=us-east1
";

const YAML: &str = "
all:
  vars: {cloud: gcp, ansible_user: root}
  hosts:
    mail: {ansible_connection: local}
  children:
    east:
      vars: {region: us-east1}
      children:
        web:
          hosts:
            web[01:02].example: &web {ansible_port: 2222, zone: a, list: [1, 2]}
        db:
          vars:
            zone: of the group
            ansible_user: postgres
            ansible_become_pass: hunter2
            secret: !vault |
              $ANSIBLE_VAULT;1.1;AES256
          hosts:
            one: {ansible_host: 203.0.113.5, internal_ip: 10.0.0.5, zone: its own}
            two:
              ansible_ssh_private_key_file: ~/.ssh/two
              ansible_ssh_common_args: -o ProxyJump=bastion -oCompression=no
";

#[test_case(Form::Ini, INI; "ini")]
#[test_case(Form::Yaml, YAML; "yaml")]
fn an_inventory_of_ansible(form: Form, text: &str) {
    let hosts: BTreeMap<String, Host> = read_as(form, text).into_iter().map(|host| (host.name.clone(), host)).collect();
    let east = |group, zone| {
        let groups = format!("east,{group}");
        [("cloud", "gcp"), ("region", "us-east1"), ("group", group), ("groups", &groups), ("zone", zone)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let with = |name: &str, reach: Ssh, labels: [(String, String); 5]| Host {
        reach: Reach::Ssh(reach),
        labels: labels.into(),
        ..host(name, "", "", "", &[])
    };
    let web = |name: &str| {
        let reach = Ssh { port: Some(2222), ..ssh(&format!("root@{name}")) };
        with(name, reach, east("web", "a"))
    };
    let one = Host {
        internal: "10.0.0.5".parse().ok(),
        external: "203.0.113.5".parse().ok(),
        ..with("one", ssh("postgres@203.0.113.5"), east("db", "its own"))
    };
    let options = vec!["ProxyJump=bastion".to_owned(), "Compression=no".to_owned()];
    let two = Ssh { key_file: Some("~/.ssh/two".to_owned()), options, ..ssh("postgres@two") };
    let mail = Host { reach: Reach::Local, ..host("mail", "", "127.0.0.1", "", &[("cloud", "gcp")]) };
    let expected =
        [mail, one, with("two", two, east("db", "of the group")), web("web01.example"), web("web02.example")];
    assert_eq!(hosts.into_values().collect::<Vec<_>>(), expected);
    assert_eq!(Form::of("hosts", text), form);
    assert!(!format!("{:?}", read_as(form, text)).contains("hunter2"), "passwords stay where they are");
}

#[test]
fn a_pod_of_ansible() {
    let text = "[k]\na ansible_connection=kubectl ansible_kubectl_namespace=lab internal=10.8.0.3\n";
    let pod = Pod { pod: "a".to_owned(), namespace: Some("lab".to_owned()), container: None, context: None };
    let expected = Host { reach: Reach::Pod(pod), ..host("a", "", "10.8.0.3", "", &[("group", "k")]) };
    assert_eq!(read_as(Form::Ini, text), [expected]);
}

#[test]
fn merge_keys_and_anchors_are_followed() {
    let text = "
.common: &common {}
web:
  hosts:
    a: &a {zone: x, ansible_user: me}
    b: {<<: *a, zone: y}
    c: {<<: [*a, {rack: r1}]}
";
    let hosts = read_as(Form::Yaml, text);
    let labels: Vec<Vec<&str>> = hosts.iter().map(|host| host.labels.values().map(String::as_str).collect()).collect();
    assert_eq!(labels, [vec!["web", "x"], vec!["web", "y"], vec!["web", "r1", "x"]]);
    assert!(hosts.iter().all(|host| matches!(&host.reach, Reach::Ssh(ssh) if ssh.to.starts_with("me@"))));
}

#[test]
fn what_tofu_prints() {
    let outputs = r#"{
  "network": { "sensitive": false, "type": "string", "value": "sonde" },
  "hosts": { "sensitive": false, "type": ["list", ["object", {}]], "value": [
    { "name": "a", "internal_ip": "10.0.0.1", "external_ip": "203.0.113.1", "user": "me", "zone": "x", "cpus": 4,
      "tags": { "team": "net\u0022é" }, "disks": [1], "password": "hunter2" },
    { "name": "b", "private_ip": "10.0.0.2", "public_ip": "203.0.113.2", "address": "203.0.113.2" }
  ] }
}"#;
    let expected = [
        host("a", "me@a", "10.0.0.1", "203.0.113.1", &[("zone", "x"), ("cpus", "4"), ("team", "net\"é")]),
        host("b", "203.0.113.2", "10.0.0.2", "203.0.113.2", &[]),
    ];
    assert_eq!(read_as(Form::Tofu, outputs), expected);
    assert_eq!(Form::of("out.json", outputs), Form::Tofu);
    let by_name = r#"{"a": {"internal_ip": "10.0.0.1"}, "b": {"internal_ip": "10.0.0.2"}}"#;
    assert_eq!(read_as(Form::Tofu, by_name).len(), 2, "as `-json NAME` prints it");
    let addresses = r#"{"a": "10.0.0.1", "b": "203.0.113.2"}"#;
    let expected = [host("a", "10.0.0.1", "10.0.0.1", "", &[]), host("b", "203.0.113.2", "", "203.0.113.2", &[])];
    assert_eq!(read_as(Form::Tofu, addresses), expected);
}

#[test]
fn static_machines_of_pkb() {
    let text = r#"[
  { "ip_address": "203.0.113.1", "user_name": "perfkit", "keyfile_path": "/keys/a", "internal_ip": "10.0.0.1", "zone": "rack_1",
    "ssh_port": 2222, "os_type": "debian12", "install_packages": false, "local_disks": ["/dev/sdb"] },
  { "ip_address": "10.0.0.2", "user_name": "perfkit", "keyfile_path": "/keys/b", "internal_ips": ["10.1.0.2", "10.2.0.2"] }
]"#;
    let with = |key: &str, port, host: Host| {
        let Reach::Ssh(ssh) = host.reach.clone() else { panic!("by ssh") };
        Host { reach: Reach::Ssh(Ssh { key_file: Some(key.to_owned()), port, ..ssh }), ..host }
    };
    let labels = [("zone", "rack_1"), ("os_type", "debian12")];
    let first = host("203.0.113.1:2222", "perfkit@203.0.113.1", "10.0.0.1", "203.0.113.1", &labels);
    let second = host("10.0.0.2", "perfkit@10.0.0.2", "10.1.0.2", "10.0.0.2", &[]);
    let expected = [with("/keys/a", Some(2222), first), with("/keys/b", None, second)];
    assert_eq!(read_as(Form::Pkb, text), expected);
    assert_eq!(Form::of("vms.json", text), Form::Pkb);
}

#[test_case("hosts.csv", "", Form::Csv; "csv")]
#[test_case("hosts.YML", "", Form::Yaml; "yaml")]
#[test_case("hosts.ini", "", Form::Ini; "ini")]
#[test_case("hosts", "---\nall:\n", Form::Yaml; "marked as yaml")]
#[test_case("hosts", "# c\nall:\n  hosts:\n", Form::Yaml; "looks like yaml")]
#[test_case("hosts", "a\nb\n[web]\nc\n", Form::Ini; "a section")]
#[test_case("hosts", "[{\"ip_address\": \"1.2.3.4\"}]", Form::Pkb; "static machines")]
#[test_case("hosts", "{\"hosts\": {}}", Form::Tofu; "outputs")]
#[test_case("hosts", "web-1 10.0.0.1\nweb-2\n", Form::List; "a list")]
#[test_case("hosts.txt", "name,zone\na,b\n", Form::Csv; "columns")]
fn the_form_is_found_out(name: &str, text: &str, form: Form) {
    assert_eq!(Form::of(name, text), form);
}

#[test_case("csv:a.txt", Some(Form::Csv), "a.txt")]
#[test_case("hosts.csv", None, "hosts.csv")]
#[test_case("c:\\hosts", None, "c:\\hosts")]
fn a_form_can_be_forced(spec: &str, form: Option<Form>, path: &str) {
    assert_eq!(Form::split(spec), (form, path));
}

#[test_case(Form::List, "", None, "it lists no hosts"; "nothing")]
#[test_case(Form::List, "a\nb\na\n", Some(3), "a second host `a`: the first stands in line 1"; "twice")]
#[test_case(Form::List, "a 10.0.0.1 zone\n", Some(1), "`zone` is no `key=value`"; "no value")]
#[test_case(Form::List, "a internal=10.0.0\n", Some(1), "`10.0.0` is no address of `a`"; "no address")]
#[test_case(Form::List, "a port=ssh\n", Some(1), "`ssh` is no port of `a`"; "no port")]
#[test_case(Form::List, "a 'b\n", Some(1), "a quote is not closed"; "an open quote")]
#[test_case(Form::List, "-oProxyCommand=x\n", Some(1), "`-oProxyCommand=x` stands where a host's name belongs"; "an option")]
#[test_case(Form::List, "a -oX\n", Some(1), "`-oX` is nothing that `a` could be reached by"; "an option for an address")]
#[test_case(Form::List, "x -l\n", Some(1), "`-l` is nothing that `x` could be reached by"; "another option")]
#[test_case(Form::List, "h[1:5000]\n", Some(1), "`h[1:5000]` stands for more than 4096 hosts"; "too wide a range")]
#[test_case(Form::List, "h[1:80][1:80]\n", Some(1), "`h[1:80][1:80]` stands for more than 4096 hosts"; "a range of ranges")]
#[test_case(Form::List, "h[5:1]\n", Some(1), "`h[5:1]`: `[5:1]` is no range, as [01:10], [a:f] or [0:30:5]"; "a range backwards")]
#[test_case(Form::Csv, "a,b\n1,2\n", Some(1), "no column is named `name`"; "no name")]
#[test_case(Form::Csv, "name,zone\na,b\nc\n", Some(3), "1 values, where the first line names 2 columns"; "too few values")]
#[test_case(Form::Csv, "name,name\na,b\n", Some(1), "two columns are named `name`"; "a column twice")]
#[test_case(Form::Ini, "[web:host]\na\n", Some(1), "`[web:host]` is no section"; "no section")]
#[test_case(Form::Ini, "[web]\na ansible_connection=winrm\n", Some(2), "`a` is reached by `winrm`, which is not known here"; "another way")]
#[test_case(Form::Ini, "[a:children]\nb\n[b:children]\na\n[a]\nx\n", Some(1), "group `a` is a child of itself, or lies in more than 64 others"; "a circle")]
#[test_case(Form::Ini, "a ansible_ssh_common_args='-F /etc/x'\n", Some(1), "`-F` is not passed on to ssh"; "arguments of ssh")]
#[test_case(Form::Yaml, "all:\n  hosts:\n    a: [\n", Some(4), ""; "no yaml")]
#[test_case(Form::Yaml, "all:\n  host:\n    a:\n", Some(3), "`host` in group `all`"; "an unknown part")]
#[test_case(Form::Yaml, "all:\n  hosts:\n    a:\n    a:\n", Some(4), "a second key `a`: the first stands in line 3"; "a key twice")]
#[test_case(Form::Yaml, "all: {hosts: {a: }}\n---\nall:\n", Some(2), "a second document"; "two documents")]
#[test_case(Form::Yaml, "- a\n- b\n", Some(1), "a list where an inventory has groups by name, as `all:`"; "a list for groups")]
#[test_case(Form::Tofu, "{\n \"a\": 1,\n}", Some(3), ""; "no json")]
#[test_case(Form::Tofu, "{\"a\": 1}", Some(1), "a map that lists no hosts"; "no hosts")]
#[test_case(Form::Tofu, "{\"a\": {\"sensitive\": false, \"value\": [{\"zone\": \"x\"}]}}", Some(1), "a host without a name"; "no name in tofu")]
#[test_case(Form::Tofu, "{\"a\": {\"sensitive\": false, \"value\": {\"x\": {\"z\": 1}}},\n \"b\": {\"sensitive\": false, \"value\": [{\"name\": \"x\"}]}}", Some(1), "several outputs list hosts: a, b"; "two outputs")]
#[test_case(Form::Pkb, "[\n{\"ip_address\": \"1.2.3.4\", \"user_name\": \"u\"}]", Some(2), "a static machine without `keyfile_path`"; "no key")]
fn what_is_wrong_is_said_with_its_line(form: Form, text: &str, line: Option<usize>, what: &str) {
    let error = read(text, "hosts", Some(form)).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    assert!(error.what == what || what.is_empty(), "{error}");
    assert!(!error.hint.is_empty());
    let place = line.map_or("hosts: ".to_owned(), |line| format!("hosts, line {line}: "));
    assert!(error.to_string().starts_with(&place), "{error}");
}

#[test]
fn aliases_that_stand_for_more_than_memory_holds_are_refused() {
    let value = "0123456789".repeat(7);
    let mut lines = vec![format!("a0: &a0 {{hosts: {{x: {{v: \"{value}\"}}}}}}")];
    for level in 1..40 {
        let before = format!("*a{}", level - 1);
        lines.push(format!("a{level}: &a{level} [{}]", [before.as_str(); 10].join(", ")));
    }
    let error = read(&lines.join("\n"), "bomb.yaml", None).unwrap_err();
    assert!(error.what.starts_with("more values than a file may have"), "{error}");
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), ["*a"; 1_000].join(", "));
    assert!(read(&long, "bomb.yaml", None).unwrap_err().what.starts_with("more values"));
}

#[test]
fn what_lies_too_deep_is_refused() {
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), "? ".repeat(10_000)] {
        for form in [Form::Yaml, Form::Tofu, Form::Pkb] {
            assert!(read(&text, "deep", Some(form)).is_err());
        }
    }
    let nested = format!("{}x{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(read(&nested, "deep.yaml", None).unwrap_err().what, "values lie in more than 64 others");
}

#[test]
fn what_would_take_for_ever_is_refused() {
    let mentions = "h[1:4000]\n".repeat(10_000);
    let error = read(&format!("[a]\n{mentions}"), "many.ini", None).unwrap_err();
    assert_eq!(error.what, "hosts are listed more than 100000 times");
    let parent = |n: u32| format!("[p{n}:vars]\na=1\nb=2\n[p{n}:children]\nx\n");
    let parents = (0..3_000).map(parent).collect::<Vec<_>>().concat();
    let error = read(&format!("{parents}[x]\nh[1:4000]\n"), "many.ini", None).unwrap_err();
    assert!(error.what.contains("variables of their groups"), "{error}");
    assert_eq!(
        read(&"#".repeat((16 << 20) + 1), "long", None).unwrap_err().what,
        "an inventory has at most 16 MiB, and this has more"
    );
    // Known to have kept a parser of this family busy for ever.
    assert!(read("{---", "loop.yaml", None).is_err());
}

#[test]
fn a_plan_takes_in_its_inventories() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "web-1 10.0.0.1\n").unwrap();
    std::fs::write(folder.path().join("b.data"), "name,address\nweb-2,10.0.0.2\n").unwrap();
    std::fs::write(folder.path().join("latin"), b"web-1\nweb-\xe9\n").unwrap();
    let text = |inventory: &str| {
        format!(
            "inventory = [{inventory}]\n[[hosts]]\nname = \"web-0\"\nreach = \"local\"\n[[methods]]\nname = \"m\"\ncommand = \"rtt\"\n"
        )
    };
    let gathered = |inventory: &str| {
        let mut plan = Plan::read(&text(inventory), "plan.toml").unwrap();
        gather(&mut plan, folder.path()).map(|()| plan)
    };
    let plan = gathered("\"a.txt\", \"csv:b.data\"").unwrap();
    let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!((names, plan.inventory.len()), (vec!["web-0", "web-1", "web-2"], 0));
    let said = |inventory| gathered(inventory).unwrap_err().what;
    assert_eq!(said("\"a.txt\", \"a.txt\""), "a.txt: a second host `web-1`: a.txt lists the first");
    assert!(said("\"none\"").starts_with("cannot read the inventory none: "));
    assert_eq!(said("\"latin\""), "cannot read the inventory latin: line 2 is no UTF-8");
}

fn any_form() -> impl Strategy<Value = Form> {
    proptest::sample::select(Form::ALL.map(|(_, form)| form).to_vec())
}

/// Pieces that mean something in one form or another, in any order.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "a",
        "web",
        " ",
        "\n",
        "\n  ",
        "\n    ",
        ":",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "\"",
        "'",
        "#",
        ";",
        "- ",
        "&a ",
        "*a",
        "<<: ",
        "!vault ",
        "|\n",
        "? ",
        "---\n",
        "[all:vars]\n",
        "[x:children]\n",
        "hosts:",
        "children:",
        "vars:",
        "[1:3]",
        "[a:c]",
        "@",
        "10.0.0.1",
        "ansible_host",
        "\\",
        "\t",
        "ü",
        "\u{feff}",
        "null",
        "\"value\"",
        "\"sensitive\"",
        "%TAG ! x\n",
    ];
    proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_is_a_panic(text in "(?s).{0,200}", form in any_form()) {
        let _ = read(&text, "hosts", Some(form));
        let _ = read(&text, "hosts", None);
    }

    #[test]
    fn no_text_of_meaningful_pieces_is_a_panic(text in pieces(), form in any_form()) {
        let _ = read(&text, "hosts", Some(form));
        let _ = read(&text, "hosts", None);
    }

    #[test]
    fn no_change_of_an_inventory_is_a_panic(
        at in 0_usize..1_000, cut in 0_usize..9, with in pieces(), yaml in any::<bool>(),
    ) {
        let (form, text) = if yaml { (Form::Yaml, YAML) } else { (Form::Ini, INI) };
        let start = at % text.len();
        let end = (start + cut).min(text.len());
        let _ = read(&format!("{}{with}{}", &text[..start], &text[end..]), "hosts", Some(form));
    }

    #[test]
    fn what_is_read_is_a_host_that_can_be_named_and_reached(text in pieces(), form in any_form()) {
        for host in read(&text, "hosts", Some(form)).unwrap_or_default() {
            prop_assert!(logbook::host::is_name(&host.name));
            if let Reach::Ssh(ssh) = &host.reach {
                prop_assert!(logbook::host::is_argument(&ssh.to));
            }
        }
    }
}

#[test_case("hosts.ini", "[web:vars\nzone=a\n[web]\nweb-1\n", 1, "the section `[web:vars` is not closed", "close it: `[web:vars]`"; "a section that is not closed")]
#[test_case("hosts", "[web:vars\nzone=a\n", 1, "the section `[web:vars` is not closed", "close it: `[web:vars]`"; "the same in a file without an ending")]
#[test_case("hosts.ini", "[frontend]\nweb-1\n[all-of:children]\nfrontend\nfrontned\n", 5, "no group `frontned` is listed", "did you mean `frontend`?"; "a child that is not there")]
#[test_case("hosts.yml", "all:\n  children:\n    east:\n      children:\n        frontned:\n    frontend:\n      hosts:\n        web-1:\n", 5, "no group `frontned` is listed", "did you mean `frontend`?"; "a child that is not there, in yaml")]
#[test_case("hosts.ini", "[web]\nweb-1\n[databases:vars]\nzone=a\n", 3, "no group `databases` is listed", "list its hosts under `[databases]`, or take it away here"; "variables of a group that is not there")]
#[test_case("hosts", "web-1\nweb-2 10.0.0.300\n", 2, "`10.0.0.300` is no address of `web-2`", "expected addresses or names, as 10.0.0.5, 2001:db8::5 or db-1.internal"; "an address beyond its range")]
#[test_case("hosts", "10.0.0.300\n", 1, "`10.0.0.300` is no address of `10.0.0.300`", "expected addresses or names, as 10.0.0.5, 2001:db8::5 or db-1.internal"; "one in the place of a name")]
#[test_case("hosts.ini", "[web]\nweb-1\nweb-2 internal=10.0.0.300\n", 3, "`10.0.0.300` is no address of `web-2`", "expected addresses or names, as 10.0.0.5, 2001:db8::5 or db-1.internal"; "one of a variable")]
#[test_case("hosts.csv", "name,address,internal\nweb-1,198.51.100.7,127.0.0.1\n", 2, "`127.0.0.1` is loopback: other hosts do not reach `web-1` by it", "give the address by which the other hosts reach it, as internal=10.0.0.5"; "loopback of another machine")]
fn what_cannot_be_is_refused_with_its_line_and_a_hint(name: &str, text: &str, line: usize, what: &str, hint: &str) {
    let error = read(text, name, None).unwrap_err();
    assert_eq!((error.line, error.what.as_str(), error.hint.as_str()), (Some(line), what, hint));
}

#[test]
fn an_sshd_of_this_machine_may_have_loopback() {
    let hosts = read("name,address\nhere,127.0.0.1\n", "hosts.csv", None).unwrap();
    assert_eq!(hosts[0].internal.as_ref().map(ToString::to_string).as_deref(), Some("127.0.0.1"));
}
