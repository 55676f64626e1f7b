//! Lists as the programs print them, and programs that do not.

use logbook::host::{Address, Reach};
use logbook::monitor::discovery::Login;
use logbook::monitor::talk::Over;
use test_case::test_case;

use super::*;

fn source(text: &str) -> Source {
    let plan = MonitorPlan::read(&format!("[[discover]]\n{text}\n"), "plan.toml").unwrap();
    plan.discover[0].source.clone()
}

fn targets(found: &Found) -> Vec<(&str, &str, Option<u16>)> {
    found.targets.iter().map(|each| (each.name.as_str(), each.address.as_str(), each.port)).collect()
}

/// Each host: its name, its transport, its address inside, its zone.
fn hosts(found: &Found) -> Vec<(String, String, String, Option<&str>)> {
    let reach = |reach: &Reach| match reach {
        Reach::Ssh(ssh) => ssh.to.clone(),
        Reach::Pod(pod) => format!("{}/{}", pod.namespace.as_deref().unwrap_or("-"), pod.pod),
        other => format!("{other:?}"),
    };
    let inside = |host: &logbook::host::Host| host.internal.as_ref().unwrap().each()[0].to_string();
    found.hosts.iter().map(|host| (host.name.clone(), reach(&host.reach), inside(host), host.label("zone"))).collect()
}

fn line(name: &str, to: &str, at: &str, zone: Option<&'static str>) -> (String, String, String, Option<&'static str>) {
    (name.to_owned(), to.to_owned(), at.to_owned(), zone)
}

#[test]
fn records_of_dns_are_targets() {
    let text = "10 60 5432 db1.example.org.\n10 20 5432 db2.example.org.\n;; a remark\nalias.example.org.\n20 0 5433 db2.example.org.\n0 0 0 .\n";
    let found = read::found(&source("from = \"dns\"\nname = \"_db._tcp.example.org\"\nzone = \"a\""), text).unwrap();
    assert_eq!(
        targets(&found),
        [
            ("db1.example.org", "db1.example.org", Some(5432)),
            ("db2.example.org:5432", "db2.example.org", Some(5432)),
            ("db2.example.org:5433", "db2.example.org", Some(5433)),
        ]
    );
    assert!(found.targets.iter().all(|each| each.over == Over::TcpConnect && each.zone.as_deref() == Some("a")));
    let icmp = read::found(&source("from = \"dns\"\nname = \"a\"\nover = \"icmp\""), "1 1 80 h.\n").unwrap();
    assert_eq!(targets(&icmp), [("h", "h", None)]);
    let error = read::found(&source("from = \"dns\"\nname = \"a\""), "1 1 http h.\n").unwrap_err();
    assert!(error.to_string().contains("`1 1 http h.` has no port"), "{error}");
}

#[test]
fn running_pods_are_hosts() {
    let text = r#"{"kind": "List", "items": [
        {"metadata": {"name": "agent-a", "namespace": "net", "labels": {"topology.kubernetes.io/zone": "z1"}},
         "spec": {"nodeName": "n1", "containers": []}, "status": {"phase": "Running", "podIP": "10.244.0.5"}},
        {"metadata": {"name": "agent-b", "namespace": "net"}, "spec": {}, "status": {"phase": "Pending"}},
        {"metadata": {"name": "agent-c", "namespace": "net", "deletionTimestamp": "2026-01-01T00:00:00Z"},
         "status": {"phase": "Running", "podIP": "10.244.0.7"}}]}"#;
    let found =
        read::found(&source("from = \"kubernetes\"\nselector = \"app=sonde-agent\"\ncontainer = \"agent\""), text);
    let found = found.unwrap();
    assert_eq!(hosts(&found), [line("agent-a", "net/agent-a", "10.244.0.5", Some("z1"))]);
    assert_eq!(found.hosts[0].machine.as_deref(), Some("n1"), "pods of one node share its machine");
}

#[test]
fn ready_endpoints_of_a_service_are_targets() {
    let text = r#"{"items": [
        {"addressType": "IPv4", "ports": [{"name": "metrics", "port": 9100}, {"name": "sql", "port": 5432}], "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": "db-0"}, "zone": "z1"},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}, "targetRef": {"name": "db-1"}},
            {"addresses": ["10.0.0.3"], "conditions": {}}]},
        {"addressType": "IPv6", "ports": [{"name": "sql", "port": 5432}], "endpoints": [
            {"addresses": ["fd00::1"], "targetRef": {"name": "db-0"}}]},
        {"addressType": "IPv4", "ports": null, "endpoints": null}]}"#;
    let found = read::found(&source("from = \"kubernetes-service\"\nservice = \"db\"\nport = \"sql\""), text).unwrap();
    assert_eq!(targets(&found), [("10.0.0.3", "10.0.0.3", Some(5432)), ("db-0", "10.0.0.1", Some(5432))]);
    assert_eq!(found.targets[1].zone.as_deref(), Some("z1"));
}

#[test]
fn running_machines_of_google_are_hosts() {
    let text = r#"[{"name": "vm-1", "status": "RUNNING",
        "zone": "https://www.googleapis.com/compute/v1/projects/p/zones/europe-west4-a",
        "machineType": "https://www.googleapis.com/compute/v1/projects/p/zones/europe-west4-a/machineTypes/n2-standard-4",
        "networkInterfaces": [{"networkIP": "10.164.0.2", "accessConfigs": [{"natIP": "203.0.113.7"}]}]},
        {"name": "vm-2", "status": "TERMINATED", "networkInterfaces": [{"networkIP": "10.164.0.3"}]},
        {"name": "vm-3", "status": "RUNNING", "networkInterfaces": [{"networkIP": "10.164.0.4"}]}]"#;
    let found = read::found(&source("from = \"gcloud\"\nlogin = { user = \"ops\" }"), text).unwrap();
    assert_eq!(
        hosts(&found),
        [
            line("vm-1", "ops@203.0.113.7", "10.164.0.2", Some("europe-west4-a")),
            line("vm-3", "ops@10.164.0.4", "10.164.0.4", None),
        ]
    );
    let label = |name| found.hosts[0].label(name);
    assert_eq!([label("region"), label("machine_type")], [Some("europe-west4"), Some("n2-standard-4")]);
}

#[test]
fn running_machines_of_aws_are_hosts_by_the_names_that_are_theirs_alone() {
    let instance = |id: &str, name: &str, state: &str, public: &str| {
        format!(
            r#"{{"InstanceId": "{id}", "InstanceType": "c6i.large", "PrivateIpAddress": "172.31.0.{}"{public},
            "Placement": {{"AvailabilityZone": "eu-central-1b"}}, "State": {{"Code": 16, "Name": "{state}"}},
            "Tags": [{{"Key": "Name", "Value": "{name}"}}]}}"#,
            id.len()
        )
    };
    let text = format!(
        r#"{{"Reservations": [{{"Instances": [{}, {}]}}, {{"Instances": [{}, {}]}}]}}"#,
        instance("i-1", "db", "running", r#", "PublicIpAddress": "198.51.100.9""#),
        instance("i-22", "web", "running", ""),
        instance("i-333", "web", "running", ""),
        instance("i-4444", "old", "stopped", "")
    );
    let found = read::found(&source("from = \"aws\"\nlogin = { user = \"admin\", at = \"internal\" }"), &text).unwrap();
    let zone = Some("eu-central-1b");
    assert_eq!(
        hosts(&found),
        [
            line("db", "admin@172.31.0.3", "172.31.0.3", zone),
            line("i-22", "admin@172.31.0.4", "172.31.0.4", zone),
            line("i-333", "admin@172.31.0.5", "172.31.0.5", zone),
        ]
    );
    assert_eq!(found.hosts[0].label("region"), Some("eu-central-1"));
}

#[test]
fn running_machines_of_azure_are_hosts() {
    let text = r#"[{"name": "vm1", "location": "westeurope", "powerState": "VM running", "privateIps": "10.1.0.4,10.1.0.5",
        "publicIps": "", "zones": ["2"], "hardwareProfile": {"vmSize": "Standard_D2s_v5"}},
        {"name": "vm2", "location": "westeurope", "powerState": "VM deallocated", "privateIps": "10.1.0.6", "zones": null}]"#;
    let found = read::found(&source("from = \"azure\""), text).unwrap();
    assert_eq!(hosts(&found), [line("vm1", "10.1.0.4", "10.1.0.4", Some("westeurope-2"))]);
    assert_eq!(found.hosts[0].external, None, "absent is absent");
}

#[test_case("from = \"kubernetes\"\nselector = \"a\""; "pods")]
#[test_case("from = \"kubernetes-service\"\nservice = \"a\""; "endpoints")]
#[test_case("from = \"gcloud\""; "google")]
#[test_case("from = \"aws\""; "aws")]
#[test_case("from = \"azure\""; "azure")]
#[test_case("from = \"command\"\ncommand = [\"a\"]"; "a command")]
fn what_is_something_else_is_refused(asked: &str) {
    for text in ["", "null", "7", "{\"items\": 7}", "error: no context", "[{\"name\": []}]", "{\"Reservations\": {}}"] {
        assert!(read::found(&source(asked), text).is_err(), "{text}");
    }
}

/// No value is taken for an option of the program.
#[test]
fn values_stand_where_they_are_values() {
    let line = |text: &str| words(&source(text)).join(" ");
    assert_eq!(
        line("from = \"kubernetes\"\nselector = \"-A\"\nnamespace = \"net\""),
        "kubectl get pods --output=json --selector=-A --namespace=net"
    );
    assert_eq!(
        line("from = \"aws\"\ntag = \"role=db\"\nregion = \"eu-central-1\""),
        "aws ec2 describe-instances --output=json --region=eu-central-1 --filters Name=instance-state-name,Values=running Name=tag:role,Values=db"
    );
    assert_eq!(
        line("from = \"gcloud\"\nfilter = \"labels.a:*\""),
        "gcloud compute instances list --format=json --quiet --filter=labels.a:*"
    );
    assert_eq!(line("from = \"azure\"\ngroup = \"g\""), "az vm list --show-details --output=json --resource-group=g");
}

fn shell(script: &str, patience: Duration) -> String {
    let words = ["-c".to_owned(), script.to_owned()];
    printed("sh", &words, patience).map_or_else(|error| format!("{error:#}"), |text| format!("printed {text:.20}"))
}

/// Programs that are not there, fail, complain at length, print without end, never end.
#[test]
fn a_program_that_gives_no_list_is_told_with_its_words() {
    let long = Duration::from_mins(1);
    assert_eq!(shell("echo {}", long), "printed {}\n");
    assert_eq!(shell("echo >&2; echo no context >&2; exit 3", long), "sh failed (exit status: 3): no context");
    assert_eq!(shell("head -c 1000000 /dev/zero >&2; echo []", long), "printed []\n");
    assert_eq!(shell("exec cat /dev/zero", long), "sh printed more than 16 MiB");
    assert_eq!(shell("printf '\\377'", long), "sh printed no text: invalid utf-8 sequence of 1 bytes from index 0");
    // Processes that it started itself end with it, so that nothing holds its output open.
    assert!(shell("sleep 1000 & sleep 1000", Duration::from_millis(20)).starts_with("sh gave no answer within"));
    let error = printed("/nowhere/kubectl", &[], long).unwrap_err();
    assert!(format!("{error:#}").contains("cannot run /nowhere/kubectl: install it"), "{error:#}");
}

#[test]
fn what_a_plan_lists_itself_comes_first() {
    let text = "[[hosts]]\nname = \"a\"\nreach = \"local\"\ninternal = \"10.0.0.1\"\n[[hosts]]\nname = \"b\"\nreach = \"local\"\ninternal = \"10.0.0.2\"\n";
    let plan = MonitorPlan::read(text, "plan.toml").unwrap();
    let instance = r#"[{"name": "a", "status": "RUNNING", "networkInterfaces": [{"networkIP": "10.9.9.9"}]},
        {"name": "c", "status": "RUNNING", "networkInterfaces": [{"networkIP": "10.0.0.3"}]}]"#;
    let found =
        read::found(&Source::Gcloud { filter: None, project: None, login: Login::default() }, instance).unwrap();
    // A target that no host could ask does not refuse the whole plan.
    let strange = read::found(&source("from = \"dns\"\nname = \"a\""), "0 0 0 h.\n0 0 80 -h.\n").unwrap();
    let (plan, none) = extended(plan, vec![strange]);
    assert!(plan.targets.is_empty() && none.unwrap().starts_with("2 of what was found left out"));
    let (plan, left_out) = extended(plan, vec![found.clone(), found]);
    let names: Vec<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(plan.hosts[0].address(Address::Internal).unwrap().each()[0].to_string(), "10.0.0.1");
    assert!(left_out.unwrap().starts_with("3 of what was found left out, `a` first"));
}
