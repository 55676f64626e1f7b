//! `sonde completions`: the completions of a shell, made from the definitions and from what values there are.
//!
//! Names of settings and figures stand in the script. Hosts and stored runs are of the machine and the moment: for bash the script asks
//! for them when they are wanted; zsh and fish know hosts themselves.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;

use crate::command::study::axis::{AXES, CORES, RATE};
use crate::exit::Exit;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde completions bash > ~/.local/share/bash-completion/completions/sonde
  sonde completions zsh  > ~/.zfunc/_sonde
  sonde completions fish > ~/.config/fish/completions/sonde.fish
";

/// Arguments of `sonde completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Figures that are usual; any percentile is one.
const FIGURES: [&str; 10] = ["min", "mean", "p50", "p90", "p95", "p99", "p99.9", "loss", "rate", "throughput"];

/// Prints them.
pub fn run(options: &CompletionsOptions, definition: Command, output: &Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut with_values(definition), "sonde", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if options.shell == Shell::Bash {
        script.push_str(BASH);
    }
    output.result(&script);
    Exit::Done
}

/// The definition with the values that a reader may mean.
fn with_values(definition: Command) -> Command {
    definition.mut_subcommands(|command| with_values(command.mut_args(with_hint)))
}

fn with_hint(argument: Arg) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let value = argument.get_value_names().and_then(<[_]>::first).map(|name| name.as_str().to_owned());
    match (id.as_str(), value.as_deref().unwrap_or_default()) {
        ("over", _) => argument.value_parser(PossibleValuesParser::new(settings())),
        ("figures", _) => argument.value_parser(PossibleValuesParser::new(FIGURES)),
        (_, "HOST" | "HOST:PORT" | "HOST[:PORT,…]") => argument.value_hint(ValueHint::Hostname),
        (_, "FILE" | "RECORD" | "PLAN" | "FILE.csv") => argument.value_hint(ValueHint::FilePath),
        (_, "FOLDER") => argument.value_hint(ValueHint::DirPath),
        _ => argument,
    }
}

/// Words that `--over` can begin with, before its `=`.
fn settings() -> impl Iterator<Item = &'static str> {
    let all = AXES.into_iter().chain([RATE, CORES]);
    all.map(|axis| if axis.name == "carrier" { "protocol" } else { axis.name })
}

/// Completions that bash has no word for: hosts that ssh knows, stored runs, and values behind a comma or an equals sign.
const BASH: &str = r#"
_sonde_hosts() {
    local file
    for file in ~/.ssh/known_hosts /etc/ssh/ssh_known_hosts; do
        [ -r "$file" ] && sed -n 's/^\([A-Za-z0-9][^ ,]*\)[ ,].*/\1/p' "$file"
    done
    for file in ~/.ssh/config /etc/ssh/ssh_config; do
        [ -r "$file" ] && sed -n 's/^[[:space:]]*[Hh]ost[[:space:]]\{1,\}//p' "$file" | tr -s ' \t' '\n\n' | grep -v '[*?!]'
    done
}

_sonde_with_values() {
    COMPREPLY=()
    _sonde "$@"
    local cur="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" prev="${COMP_WORDS[COMP_CWORD-1]}" values="" before=""
    case "$cur" in -*) return 0 ;; esac
    case "$prev" in
        --over)
            compopt -o nospace 2>/dev/null
            [ ${#COMPREPLY[@]} -gt 0 ] && COMPREPLY=("${COMPREPLY[@]/%/=}")
            return 0 ;;
        --figures)
            # Of several, the last is completed.
            if [ "$cur" != "${cur%,*}" ]; then
                before="${cur%,*},"
                COMP_WORDS[COMP_CWORD]="${cur##*,}"
                _sonde "$1" "${cur##*,}" "$prev"
                COMPREPLY=("${COMPREPLY[@]/#/$before}")
            fi
            return 0 ;;
        -*) return 0 ;;
    esac
    case "$command" in
        rtt|load|throughput|look|check|why|syn|replay|compare|sweep) values="$(_sonde_hosts)" ;;
        show|report|export|matrix) values="last $(sonde runs --json -q 2>/dev/null | sed -n 's/.*"id": *"\([0-9a-f-]\{36\}\)".*/\1/p')" ;;
    esac
    COMPREPLY+=($(compgen -W "$values" -- "$cur"))
    case "$command" in
        show|report|export|matrix|compare|run) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")) ;;
    esac
}

complete -F _sonde_with_values -o nosort -o bashdefault -o default sonde 2>/dev/null || complete -F _sonde_with_values -o bashdefault -o default sonde
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_taken() {
        with_values(crate::cli::definition()).debug_assert();
        for figure in FIGURES {
            assert!(figure.parse::<measure::study::figure::Figure>().is_ok(), "{figure}");
        }
        for setting in settings() {
            assert!(crate::command::study::axis::Axis::named(setting).is_some(), "{setting}");
        }
    }
}
