//! The settings that are measured to find causes: the method in question at several intervals, every combination of its switches, its best case,
//! and the peer on other CPUs.

use logbook::study::{Place, Question};
use measure::study::moves;
use measure::study::range::Values;
use measure::unit::Nanos;
use measure::why::Cause;

use crate::command::study::axis::Axis;
use crate::command::study::point;
use crate::command::study::words::Words;
use crate::command::sweep::asked;
use crate::failure::Failure;

/// Intervals where nobody says: back to back, and one a decade.
const INTERVALS: &str = "0,10us..100ms/5";
/// The method in question where nobody names one: an application that asks now and then, and sleeps in between.
const DEFAULTS: [(&str, &str); 6] = [
    ("--every", "10ms"),
    ("--window", "1"),
    ("--pace", "sleep"),
    ("--wait", "block"),
    ("--peer-wait", "block"),
    // The usual warm-up would be most of the time of a hundred trials.
    ("--warm-up", "100ms"),
];
/// Options that say when requests leave: any of them stands for the interval.
const SCHEDULES: [&str; 3] = ["--every", "--rate", "--poisson"];
/// The causes that have a switch, and the option that is said to be `spin`.
pub const SWITCHES: [(Cause, &str); 3] =
    [(Cause::SleepPacing, "--pace"), (Cause::OurWakeUp, "--wait"), (Cause::PeerWakeUp, "--peer-wait")];
const MOVED: &str = "spin";

/// The settings that are measured.
#[derive(Debug)]
pub struct Settings {
    /// The question as the document keeps it.
    pub question: Question,
    /// The words of each setting.
    pub words: Vec<Words>,
    /// Place of each.
    pub places: Vec<Place>,
}

/// The method in question.
///
/// # Errors
/// Options that a study has no use for, another command than `rtt`, a method that is none, one without an interval.
pub fn base(host: Option<&String>, options: &[String]) -> Result<Words, Failure> {
    let mut base = asked::common(host, options)?;
    if base.command != "rtt" {
        let what = format!("`sonde why` explains round trips, and `{}` measures something else", base.command);
        return Err(Failure::usage(what).hint("use sonde compare for loads or streams"));
    }
    base.options.retain(|said| !matches!(said.name.as_str(), "--stamps" | "--no-stamps"));
    for (option, value) in DEFAULTS {
        let scheduled = option == "--every" && SCHEDULES.iter().any(|option| base.value(option).is_some());
        if base.value(option).is_none() && !scheduled {
            let mut more = base.clone();
            more.say(option, Some(value.to_owned()));
            // An option that its protocol or its peer has no word for stays unsaid.
            if option != "--peer-wait" || more.method().is_ok() {
                base = more;
            }
        }
    }
    let forced = base.options.iter().any(|said| said.name == "--force");
    if base.method()?.traffic.application().is_some() && !forced {
        return Err(Failure::usage(
            "it asks back to back too, which loads a program at work, and its other users wait",
        )
        .hint("add --force where that is meant; without it, measure at one interval: sonde rtt"));
    }
    Ok(base)
}

/// The interval of the method in question.
fn interval(base: &Words) -> Result<Nanos, Failure> {
    let gap = base.method()?.schedule.mean_gap();
    gap.ok_or_else(|| Failure::usage("no interval to explain").hint("add --every TIME, as in --every 10ms"))
}

/// The intervals to be measured, as they are typed: those of `text`, back to back, and that of `base`.
///
/// # Errors
/// A text that names none.
pub fn intervals(text: Option<&str>, base: &Words) -> Result<Vec<(String, Nanos)>, Failure> {
    let own = Values::Times.typed(interval(base)?.0);
    let text = format!("{},0,{own}", text.unwrap_or(INTERVALS));
    let steps = point::steps(&text, Values::Times)
        .map_err(|error| Failure::usage(format!("--intervals: {error}")).about("--intervals"))?;
    let mut intervals: Vec<(String, Nanos)> =
        steps.into_iter().filter_map(|step| Some((step.text, Nanos(step.number?)))).collect();
    intervals.sort_by_key(|(_, interval)| *interval);
    Ok(intervals)
}

impl Settings {
    /// The settings for `base`: exchanges are stamped throughout at the intervals where `stamps`, and the peer is moved over its
    /// first and its last CPU where it has two or more.
    ///
    /// # Errors
    /// A method that its own command refuses.
    pub fn of(base: &Words, intervals: &[(String, Nanos)], stamps: bool, peer_cpus: u32) -> Result<Self, Failure> {
        let axis = Axis::named("interval").ok_or_else(|| Failure::usage("there is no axis interval"))?;
        let switches = switches(base);
        let causes: Vec<Cause> = switches.iter().map(|(cause, _)| *cause).collect();
        let question = Question::Why { interval_ns: interval(base)?, method: base.words(), switches: causes };
        let mut settings = Self { question, words: Vec::new(), places: Vec::new() };
        for (text, number) in intervals {
            let mut words = point::put(&axis, base, text)?;
            let mut stamped = words.clone();
            stamped.say("--stamps", None);
            // A program that is asked over QUIC has no word for it.
            if stamps && stamped.method().is_ok() {
                words = stamped;
            }
            let (of, value) = ("rtt".to_owned(), text.clone());
            settings.add(words, Place::Point { series: 0, of, value, number: Some(number.0 as f64) });
        }
        let unstamped = |mut words: Words| {
            words.say("--no-stamps", None);
            words
        };
        for moved in moves::corners(switches.len()) {
            settings.add(unstamped(corner(base, &switches, moved)), Place::Corner { moved });
        }
        let all = corner(base, &switches, moves::Corner::MAX);
        settings.add(unstamped(point::put(&axis, &all, "0")?), Place::Floor);
        for cpu in cpus(base, peer_cpus) {
            let mut words = base.clone();
            words.say("--peer-cpu", Some(cpu.to_string()));
            settings.add(unstamped(words), Place::PeerCpu { cpu });
        }
        Ok(settings)
    }

    fn add(&mut self, words: Words, place: Place) {
        self.words.push(words);
        self.places.push(place);
    }
}

/// The switches that the method has and that are not moved yet.
fn switches(base: &Words) -> Vec<(Cause, &'static str)> {
    let moves = |option: &str| {
        let mut moved = base.clone();
        moved.say(option, Some(MOVED.to_owned()));
        base.value(option) != Some(MOVED) && moved.method().is_ok()
    };
    SWITCHES.into_iter().filter(|(_, option)| moves(option)).collect()
}

fn corner(base: &Words, switches: &[(Cause, &str)], moved: moves::Corner) -> Words {
    let mut words = base.clone();
    for (bit, (_, option)) in switches.iter().enumerate() {
        if moved & 1 << bit != 0 {
            words.say(option, Some(MOVED.to_owned()));
        }
    }
    words
}

/// CPUs that the peer is moved to: its first and its last, where it has several and takes the word.
fn cpus(base: &Words, peer_cpus: u32) -> Vec<u32> {
    let mut words = base.clone();
    words.say("--peer-cpu", Some("0".to_owned()));
    let movable = peer_cpus >= 2 && words.method().is_ok();
    if movable { vec![0, peer_cpus - 1] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn base_of(options: &str) -> Result<Words, Failure> {
        let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        base(Some(&"db1".to_owned()), &options)
    }

    fn settings(options: &str, cpus: u32) -> Settings {
        let base = base_of(options).unwrap();
        Settings::of(&base, &intervals(None, &base).unwrap(), true, cpus).unwrap()
    }

    /// Every setting is a method, also where there is no time breakdown.
    #[test]
    fn a_program_is_asked_in_its_own_protocol() {
        for (url, has_parts) in [("redis://127.0.0.1", true), ("h3://127.0.0.1", false)] {
            let options = ["--force", "--insecure"].map(str::to_owned);
            let base = base(Some(&url.to_owned()), &options[..if has_parts { 1 } else { 2 }]).unwrap();
            let settings = Settings::of(&base, &intervals(None, &base).unwrap(), true, 0).unwrap();
            let stamped = |words: &Words| words.options.iter().any(|said| said.name == "--stamps");
            assert!(settings.words.len() > 8 && settings.words.iter().all(|words| words.method().is_ok()), "{url}");
            assert_eq!(settings.words.iter().any(stamped), has_parts, "{url}");
        }
    }

    /// The hint helps: asking more rarely does not, because back to back is among the intervals.
    #[test]
    fn a_program_at_work_is_not_loaded_without_a_word() {
        for options in [&[][..], &["--every".to_owned(), "10ms".to_owned()]] {
            let told = base(Some(&"redis://127.0.0.1".to_owned()), options).unwrap_err().told;
            assert!(told.what.contains("back to back"), "{}", told.what);
            assert!(told.hint.is_some_and(|hint| hint.contains("--force") && !hint.contains("--every")));
        }
    }

    #[test]
    fn an_application_that_sleeps_is_in_question_where_nobody_says() {
        let settings = settings("", 2);
        let Question::Why { interval_ns, switches, .. } = settings.question else { panic!("another question") };
        assert_eq!((interval_ns, switches.len()), (Nanos::millis(10), 3));
        // Back to back and five decades, eight corners, the best case, two CPUs.
        assert_eq!(settings.words.len(), 6 + 8 + 1 + 2);
        let words = |place: &Place| {
            let at = settings.places.iter().position(|there| there == place).expect("that place");
            settings.words[at].words().join(" ")
        };
        let says = |place: &Place, said: &[&str]| {
            let words = words(place);
            assert!(said.iter().all(|said| words.contains(said)), "{said:?} in {words}");
        };
        says(&Place::Corner { moved: 0 }, &["--pace sleep", "--wait block", "--peer-wait block", "--no-stamps"]);
        says(&Place::Corner { moved: 5 }, &["--pace spin", "--wait block", "--peer-wait spin"]);
        assert!(!words(&Place::Floor).contains("--every") && words(&Place::Floor).contains("--wait spin"));
        assert!(words(&Place::PeerCpu { cpu: 1 }).contains("--peer-cpu 1"));
        assert!(settings.words[..6].iter().all(|words| words.words().contains(&"--stamps".to_owned())));
    }

    #[test_case("--pace spin", 2, 4; "a switch that is moved already is none")]
    #[test_case("--icmp", 2, 4; "a kernel that answers has no word for how it waits")]
    #[test_case("--peer netperf", 2, 4; "nor has a netserver")]
    #[test_case("--pace spin --wait spin --peer-wait spin", 0, 1; "nothing to move")]
    #[test_case("--pace hybrid --rate 50/s", 3, 8; "at a rate")]
    fn switches_are_those_that_can_be_moved(options: &str, switches: usize, corners: usize) {
        let settings = settings(options, 1);
        let Question::Why { switches: found, .. } = &settings.question else { panic!("another question") };
        assert_eq!(found.len(), switches);
        let of = settings.places.iter().filter(|place| matches!(place, Place::Corner { .. })).count();
        assert_eq!(of, corners);
        assert!(settings.words.iter().all(|words| words.method().is_ok()));
    }

    #[test_case("load", "explains round trips"; "a load")]
    #[test_case("throughput", "explains round trips"; "a stream")]
    #[test_case("--size 1 --udp", "does not fit"; "no method")]
    #[test_case("--until p99", "--until does not work"; "no stated length")]
    fn what_cannot_be_explained_is_refused(options: &str, said: &str) {
        let failure = base_of(options).unwrap_err();
        assert!(failure.told.what.contains(said), "{}", failure.told.what);
    }

    #[test]
    fn back_to_back_and_the_interval_in_question_are_always_measured() {
        let base = base_of("--every 3ms").unwrap();
        let texts =
            |text| -> Vec<String> { intervals(Some(text), &base).unwrap().into_iter().map(|(text, _)| text).collect() };
        assert_eq!(texts("1ms,20ms"), ["0", "1ms", "3ms", "20ms"]);
        assert!(intervals(Some("0..1s"), &base).unwrap_err().told.what.contains("starts at 0"));
    }
}
