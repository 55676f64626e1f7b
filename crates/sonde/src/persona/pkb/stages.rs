//! Stages that are done, in PKB's words and in ours.

use logbook::run::Stage;

use crate::persona::answer::Answer;
use crate::persona::pkb::flags::complain;

/// All of them, in order.
pub const ALL: [Stage; 5] = [Stage::Provision, Stage::Prepare, Stage::Run, Stage::Cleanup, Stage::Teardown];

/// PKB's stages, each with its place among ours, and those that may follow it. Three of them are parts of `prepare`.
const WORDS: [(&str, Stage, &[&str]); 8] = [
    ("provision", Stage::Provision, &["prepare", "install_packages", "prepare_system", "start_services", "teardown"]),
    ("prepare", Stage::Prepare, &["run", "cleanup"]),
    ("install_packages", Stage::Prepare, &["prepare_system", "start_services", "run", "cleanup"]),
    ("prepare_system", Stage::Prepare, &["start_services", "run", "cleanup"]),
    ("start_services", Stage::Prepare, &["run", "cleanup"]),
    ("run", Stage::Run, &["cleanup"]),
    ("cleanup", Stage::Cleanup, &["teardown"]),
    ("teardown", Stage::Teardown, &[]),
];

/// The stages that `--run_stage` names: all where it was not said.
///
/// # Errors
/// A word that is no stage, or one that may not follow the one before.
pub fn read(words: &[String]) -> Result<Vec<Stage>, Answer> {
    let said = words.join(",");
    match words {
        [] => return Ok(ALL.to_vec()),
        [all] if all == "all" => return Ok(ALL.to_vec()),
        _ => {}
    }
    let mut stages: Vec<Stage> = Vec::new();
    let mut next: Option<&[&str]> = None;
    for word in words {
        let known = WORDS.iter().find(|(name, ..)| name == word);
        let Some((name, stage, after)) = known else {
            let names: Vec<&str> = WORDS.iter().map(|(name, ..)| *name).collect();
            return Err(complain(&format!(
                "--run_stage={said}: `{word}` is no stage: there are {}, or all alone",
                names.join(", ")
            )));
        };
        if let Some(next) = next.filter(|next| !next.contains(name)) {
            let may = if next.is_empty() { "nothing".to_owned() } else { next.join(" or ") };
            return Err(complain(&format!(
                "--run_stage={said}: `{word}` comes too early, too late or twice: {may} may stand there; stages come in order \
                 and without gaps"
            )));
        }
        next = Some(after);
        if stages.last() != Some(stage) {
            stages.push(*stage);
        }
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(text: &str) -> Result<Vec<Stage>, Answer> {
        let words: Vec<String> = text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        read(&words)
    }

    #[test_case("", &ALL; "not said")]
    #[test_case("all", &ALL; "all")]
    #[test_case("provision,prepare", &[Stage::Provision, Stage::Prepare]; "the first two")]
    #[test_case("run", &[Stage::Run]; "one")]
    #[test_case("prepare,cleanup", &[Stage::Prepare, Stage::Cleanup]; "prepared for nothing")]
    #[test_case("provision,teardown", &[Stage::Provision, Stage::Teardown]; "machines alone")]
    #[test_case("install_packages,start_services,run", &[Stage::Prepare, Stage::Run]; "prepared in parts")]
    #[test_case("prepare_system", &[Stage::Prepare]; "one part")]
    fn stages_that_are_a_run(text: &str, expected: &[Stage]) {
        assert_eq!(of(text).unwrap(), expected);
    }

    #[test_case("run,prepare", "may stand there"; "the wrong way round")]
    #[test_case("provision,run", "prepare or"; "a gap")]
    #[test_case("run,run", "cleanup may stand there"; "twice")]
    #[test_case("prepare,install_packages", "run or cleanup"; "the whole and a part")]
    #[test_case("teardown,provision", "nothing may stand there"; "after the last")]
    #[test_case("build", "`build` is no stage"; "none")]
    #[test_case("all,run", "`all` is no stage"; "all and one")]
    fn stages_that_are_none(text: &str, says: &str) {
        let answer = of(text).unwrap_err();
        assert!(answer.stderr.contains(says) && answer.status == 1, "{answer:?}");
    }
}
