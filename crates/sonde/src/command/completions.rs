//! `sonde completions`: the completions of a shell, made from the definitions.

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde completions bash > ~/.local/share/bash-completion/completions/sonde
  sonde completions zsh  > ~/.zfunc/_sonde
  sonde completions fish > ~/.config/fish/completions/sonde.fish
";

/// What `sonde completions` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints them.
pub fn run(options: &CompletionsOptions, mut definition: clap::Command, output: &Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut definition, "sonde", &mut script);
    output.result(&String::from_utf8_lossy(&script));
    Exit::Done
}
