//! Stages, folders and results, with somebody who only pretends to carry out.

use std::cell::RefCell;

use logbook::document::Head;
use logbook::document::Tool;
use logbook::failure::Side;
use logbook::moment::Moment;
use logbook::run::{Figures, PairCheck};
use test_case::test_case;

use super::*;
use crate::persona::pkb::carry_out::Samples;
use crate::persona::pkb::job::{Given, session};

/// Carries nothing out, and says that it did.
#[derive(Default)]
struct Pretender {
    /// Methods that fail, by their names.
    failing: Vec<&'static str>,
    /// True where internal addresses do not answer.
    internal_silent: bool,
    /// True where a signal ends the first.
    interrupted: bool,
    /// True where samples cannot be made.
    no_samples: bool,
    /// Orders so far: the benchmark, the run, and whether it was begun before.
    orders: RefCell<Vec<(String, Uuid, bool)>>,
}

fn failure(what: &str) -> logbook::failure::Failure {
    logbook::failure::Failure { what: what.into(), to_whom: None, side: Some(Side::Path), hint: None, partial: None }
}

impl Pretender {
    fn cell(&self, place: Place) -> Cell {
        let silent = self.internal_silent && place.over == Address::Internal;
        let failed = silent || self.failing.contains(&place.method.as_str());
        Cell {
            place,
            round: 0,
            beside: 0,
            started: moment(),
            record: (!failed).then(Uuid::now_v7),
            figures: (!failed).then(Figures::default),
            failure: failed.then(|| failure("nothing answered")),
            host_lost: false,
        }
    }
}

fn moment() -> Moment {
    serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap()
}

impl Runner for Pretender {
    fn carry_out(&self, order: &Order<'_>) -> Result<Carried, Failure> {
        let name = order.plan.name.as_deref().unwrap_or_default();
        let uid = name.rsplit(' ').next().unwrap_or_default().to_owned();
        self.orders.borrow_mut().push((uid, order.id, order.resume));
        let check = |from: &str, to: &str| PairCheck {
            from: from.into(),
            to: to.into(),
            over: Address::Internal,
            address: Some("10.0.0.1".parse().unwrap()),
            name: None,
            icmp: Answered::Silent,
            tcp: Answered::Silent,
            udp: Answered::Silent,
            mtu_bytes: None,
            mtu_hole: false,
            failure: None,
        };
        let checks = if self.internal_silent {
            vec![check("static0", "static1"), check("static1", "static0")]
        } else {
            Vec::new()
        };
        let measured = order.stages.contains(&Stage::Run);
        let cells =
            if measured { wanted(order.plan).into_iter().map(|place| self.cell(place)).collect() } else { Vec::new() };
        let tool = Tool { name: "sonde".into(), version: "0".into() };
        let head = Head::new(order.id, tool, order.command.to_vec(), moment());
        let mut run = RunDocument::new(head, order.plan.clone(), None);
        (run.checks, run.cells) = (checks, cells);
        // As the runner does: where hosts are there already nothing is made or removed.
        let kept = |stage: &&Stage| ![Stage::Provision, Stage::Teardown].contains(stage);
        run.stages = order.stages.iter().filter(kept).copied().collect();
        let interrupted = Ended::Interrupted { signal: "SIGINT".into() };
        run.ended = Some(if self.interrupted { interrupted } else { Ended::Complete });
        Ok(Carried { run, records: Vec::new() })
    }

    fn samples(&self, ask: &Ask, carried: &Carried) -> Result<Samples, Failure> {
        if self.no_samples {
            return Err(Failure::usage("a sample has no word for it"));
        }
        let row = Row {
            test: ask.test.clone(),
            metric: "cells".into(),
            value: carried.run.cells.len() as f64,
            unit: String::new(),
            metadata: ask.metadata.clone(),
        };
        Ok(Samples { lines: format!("{{\"test\": \"{}\"}}\n", ask.test), rows: vec![row] })
    }
}

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, words: &[&str], runner: &dyn Runner) -> Result<Exit, Answer> {
        let hosts = r#"[{"ip_address": "192.0.2.1", "user_name": "u", "keyfile_path": "/k", "internal_ip": "10.0.0.1"},
                        {"ip_address": "192.0.2.2", "user_name": "u", "keyfile_path": "/k", "internal_ip": "10.0.0.2"}]"#;
        let read = |_: &str| Ok(hosts.to_owned());
        let mut words: Vec<String> = words.iter().map(ToString::to_string).collect();
        words.extend(["--static_vm_file=hosts".to_owned(), format!("--temp_dir={}", self.path("tmp"))]);
        let flags = Flags::parse(&words, &read)?;
        let given = Given { run_uri: "0a1b2c3d".into(), owner: "ann".into() };
        let output = Output::new(anstream::ColorChoice::Never, true, false);
        run(&session(&flags, &given, &read)?, &flags, &words, runner, &output)
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

#[test]
fn plans_samples_and_runs_lie_in_the_folder() {
    let scene = Scene::new();
    let exit = scene.run(&["--benchmarks=ping,netperf"], &Pretender::default()).unwrap();
    assert_eq!(exit, Exit::Done);
    let samples = scene.file("tmp/runs/0a1b2c3d/perfkitbenchmarker_results.json");
    assert_eq!(samples, "{\"test\": \"ping\"}\n{\"test\": \"netperf\"}\n");
    let plan = Plan::read(&scene.file("tmp/runs/0a1b2c3d/netperf0.plan.toml"), "plan").unwrap();
    assert_eq!((plan.methods.len(), plan.directions), (3, Directions::Forward));
}

#[test]
fn later_stages_find_the_run_of_the_earlier() {
    let (scene, runner) = (Scene::new(), Pretender::default());
    let uri = "--run_uri=abc";
    scene.run(&["--benchmarks=ping", uri, "--run_stage=provision,prepare"], &runner).unwrap();
    scene.run(&["--benchmarks=ping", uri, "--run_stage=run"], &runner).unwrap();
    let orders = runner.orders.borrow();
    assert_eq!((orders[0].1, orders[0].2, orders[1].2), (orders[1].1, false, true));
}

#[test]
fn nothing_is_written_where_no_run_stage_was_asked_for() {
    let scene = Scene::new();
    scene.run(&["--benchmarks=ping", "--run_stage=provision,prepare"], &Pretender::default()).unwrap();
    assert_eq!(scene.file("tmp/runs/0a1b2c3d/perfkitbenchmarker_results.json"), "");
}

#[test]
fn one_that_fails_costs_the_others_nothing() {
    let scene = Scene::new();
    let runner = Pretender { failing: vec!["TCP_CRR"], ..Pretender::default() };
    let path = scene.path("out.json");
    let exit = scene.run(&["--benchmarks=netperf,ping", &format!("--json_path={path}")], &runner).unwrap();
    assert_eq!((exit, runner.orders.borrow().len()), (Exit::Persona(1), 2));
    assert_eq!(scene.file("out.json").lines().count(), 2, "what was measured is among the samples");
}

#[test_case(&Pretender { failing: vec!["TCP_RR"], ..Pretender::default() }, &["--stop_after_benchmark_failure"]; "told to stop")]
#[test_case(&Pretender { interrupted: true, ..Pretender::default() }, &[]; "a signal")]
fn the_rest_may_be_skipped(runner: &Pretender, more: &[&str]) {
    let exit = Scene::new().run(&[&["--benchmarks=netperf,ping"], more].concat(), runner).unwrap();
    assert_eq!((exit, runner.orders.borrow().len()), (Exit::Persona(1), 1));
}

#[test_case("REACHABLE", Exit::Done; "left out where they do not answer")]
#[test_case("BOTH", Exit::Persona(1); "missed where they were asked for")]
fn internal_addresses_that_do_not_answer(which: &str, expected: Exit) {
    let runner = Pretender { internal_silent: true, ..Pretender::default() };
    let exit = Scene::new().run(&["--benchmarks=ping", &format!("--ip_addresses={which}")], &runner).unwrap();
    assert_eq!(exit, expected);
}

#[test]
fn samples_that_cannot_be_made_are_a_failure() {
    let runner = Pretender { no_samples: true, ..Pretender::default() };
    assert_eq!(Scene::new().run(&["--benchmarks=ping"], &runner).unwrap(), Exit::Persona(1));
}

#[test]
fn samples_go_behind_what_is_there_or_over_it() {
    let scene = Scene::new();
    let path = scene.path("out.json");
    let words = |mode: &str| [format!("--json_path={path}"), format!("--json_write_mode={mode}")];
    for (mode, lines) in [("a", 1), ("a", 2), ("w", 1)] {
        let [one, other] = words(mode);
        scene.run(&["--benchmarks=ping", &one, &other], &Pretender::default()).unwrap();
        assert_eq!(scene.file("out.json").lines().count(), lines);
    }
}

#[test]
fn no_file_for_samples_is_told_before_anything_is_measured() {
    let runner = Pretender::default();
    let answer = Scene::new().run(&["--benchmarks=ping", "--json_path=/no/such/folder/x"], &runner).unwrap_err();
    assert!(answer.stderr.contains("--json_path=/no/such/folder/x"), "{answer:?}");
    assert!(runner.orders.borrow().is_empty());
}

#[test]
fn no_samples_may_be_wanted() {
    let scene = Scene::new();
    scene.run(&["--benchmarks=ping", "--json_path="], &Pretender::default()).unwrap();
    assert!(!scene.folder.path().join("tmp/runs/0a1b2c3d/perfkitbenchmarker_results.json").exists());
}

#[test]
fn a_dry_run_touches_nothing() {
    let (scene, runner) = (Scene::new(), Pretender::default());
    assert_eq!(scene.run(&["--benchmarks=ping", "--dry_run"], &runner).unwrap(), Exit::Done);
    assert!(runner.orders.borrow().is_empty() && !scene.folder.path().join("tmp").exists());
}

#[test]
fn how_each_ended_lies_in_the_folder_and_where_it_was_wanted() {
    let scene = Scene::new();
    let path = scene.path("ended.json");
    let runner = Pretender { failing: vec!["TCP_CRR"], ..Pretender::default() };
    scene.run(&["--benchmarks=netperf,ping", &format!("--completion_status_file={path}")], &runner).unwrap();
    let text = scene.file("ended.json");
    assert_eq!(text, scene.file("tmp/runs/0a1b2c3d/completion_statuses.json"));
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = lines.iter().map(|line| (line["name"].as_str().unwrap(), line["status"].as_str().unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), [("netperf", "FAILED"), ("ping", "SUCCEEDED")]);
    let detail = lines[0]["status_detail"].as_str().unwrap();
    assert!(detail.contains("TCP_CRR from static0 to static1, repeat 0: nothing answered"), "{detail}");
}
