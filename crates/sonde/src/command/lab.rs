//! `sonde lab`: hosts to measure between.

pub mod cloud;
pub mod kubernetes;

use std::sync::Arc;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// What `sonde lab` takes.
#[derive(Debug, Args)]
pub struct LabOptions {
    #[command(subcommand)]
    lab: Lab,
}

#[derive(Debug, Subcommand)]
enum Lab {
    /// Machines of a cloud, by the vendor's own program: gcloud, aws or az
    Cloud(cloud::CloudOptions),
    /// Pods of a Kubernetes cluster, by kubectl
    Kubernetes(kubernetes::KubernetesOptions),
}

/// Does what is asked.
///
/// # Errors
/// What the part that was asked says.
pub fn run(options: LabOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    match options.lab {
        Lab::Cloud(options) => cloud::run(options, output),
        Lab::Kubernetes(options) => kubernetes::run(&options, output),
    }
}
