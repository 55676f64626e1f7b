//! `sonde lab`: hosts to measure between: on this machine, in a cloud, in a cluster.

pub mod cloud;
mod demands;
pub mod kubernetes;
pub mod place;
mod remove;
mod show;
mod up;

use std::sync::Arc;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples, as root:
  sonde lab up --hosts 5 -o hosts.toml           five hosts on a bridge, listed in a file
  sonde lab up --hosts 6 --zones 3 --ssh         with an sshd in each, in three zones
  sonde lab up --hosts 4 --rate 100M             100 Mbit/s per link and direction
  sonde lab up --hosts 4 --zones 2 --worse z1,z2 --delay 5ms --loss 0.1%
  ip netns exec sondelab-ID-h1 ping 10.182.0.2   anything may be run on a host
  sonde lab list                                 existing labs
  sonde lab down ID                              remove one
  sonde lab clean                                remove leftovers of killed processes
";

/// Options of `sonde lab`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LabOptions {
    #[command(subcommand)]
    task: Task,
}

/// Tasks of `sonde lab`.
#[derive(Debug, Subcommand)]
enum Task {
    /// Create hosts: network namespaces on a bridge, in a separate network
    ///
    /// Prints the inventory as TOML, for `sonde run`. The lab remains until `sonde lab down`. After an error or a signal nothing of it
    /// remains. The machine's own network is not changed. Without root it uses a user namespace.
    #[command(after_help = up::EXAMPLES)]
    Up(up::UpOptions),
    /// List the labs of this user
    List(show::ListOptions),
    /// Remove a lab and end its processes
    Down(remove::DownOptions),
    /// Remove leftovers of killed processes; with --older-than also existing labs
    Clean(remove::CleanOptions),
    /// Cloud machines, through gcloud, aws or az
    Cloud(cloud::CloudOptions),
    /// Pods of a Kubernetes cluster, through kubectl
    Kubernetes(kubernetes::KubernetesOptions),
}

/// Does it.
///
/// # Errors
/// Errors of the lab.
pub fn run(options: LabOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    match options.task {
        Task::Up(options) => up::run(&options, output),
        Task::List(options) => show::run(&options, output),
        Task::Down(options) => remove::down(&options, output),
        Task::Clean(options) => remove::clean(&options, output),
        Task::Cloud(options) => cloud::run(options, output),
        Task::Kubernetes(options) => kubernetes::run(&options, output),
    }
}
