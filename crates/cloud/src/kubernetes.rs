//! Pods of a Kubernetes cluster as hosts: manifests, and how pods are read back.
//!
//! On each node a pod (a `DaemonSet`), or some in each zone (a Deployment by zone), with a network of their own or the node's; or one
//! shot (Job). The manifests are JSON, which `kubectl` takes as it takes YAML. Everything carries the label `sonde-run`, and is
//! removed by it; when it may go stands in an annotation.
//!
//! The pods do nothing but be there: they listen at loopback alone. Measurements are begun by `kubectl exec`.

pub mod found;
pub mod manifest;

use crate::fault::Kind;
use crate::vendor::Tool;

/// `kubectl`.
pub const TOOL: Tool = Tool {
    whose: "kubernetes",
    program: "kubectl",
    install: "kubectl, https://kubernetes.io/docs/tasks/tools",
    login: "`kubectl config current-context` names the cluster, `kubectl auth whoami` who you are there",
    rights: "get, list, create, patch and delete of daemonsets, deployments, jobs and pods, and pods/exec, in the namespace",
    environment: &[],
    always: &[],
    account: "--context",
    faults: &[
        ("you must be logged in", Kind::NotLoggedIn),
        ("unauthorized", Kind::NotLoggedIn),
        ("no configuration has been provided", Kind::NotLoggedIn),
        ("context was not found", Kind::NotLoggedIn),
        ("exceeded quota", Kind::Quota),
        ("forbidden", Kind::Permission),
        ("too many requests", Kind::RateLimited),
        ("alreadyexists", Kind::AlreadyExists),
        ("(notfound)", Kind::NotFound),
        ("connection refused", Kind::NotLoggedIn),
        ("was refused", Kind::NotLoggedIn),
        ("internal error", Kind::Passing),
        ("etcdserver", Kind::Passing),
    ],
};

/// The label by which zones are told.
const ZONE: &str = "topology.kubernetes.io/zone";
