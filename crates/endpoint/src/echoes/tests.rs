//! Requests to this very host.

use super::*;

fn task(targets: &[&str], course: Course) -> Task {
    Task {
        targets: targets.iter().map(|target| SocketAddr::new(target.parse().unwrap(), 0)).collect(),
        payload: vec![0; 56],
        course,
        interval: Nanos::micros(100),
        timeout: Nanos::secs(5),
        report: None,
        sources: [None, None],
        socket: SocketOptions::default(),
        wishes: Wishes::default(),
    }
}

fn happenings(task: &Task) -> Vec<Happening> {
    let mut all = Vec::new();
    run(task, &Stop::default(), &Arc::default(), &mut |happening| all.push(happening)).unwrap();
    all
}

#[test]
fn hundreds_of_addresses_answer_each_as_often_as_it_is_asked() {
    let names: Vec<String> = (0..300).map(|place| format!("127.0.{}.{}", place / 200, 1 + place % 200)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["::1"]).collect();
    let course = Course::Every { count: Some(2), period: Nanos::millis(10) };
    let mut answers = vec![0_u32; names.len()];
    for happening in happenings(&task(&names, course)) {
        match happening {
            Happening::Reply(target, reply) => {
                assert_eq!((reply.from.to_string().as_str(), reply.octets), (names[target], 64));
                assert_eq!(reply.index, answers[target]);
                answers[target] += 1;
            }
            Happening::Sent(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(answers.iter().all(|answers| *answers == 2), "{answers:?}");
}

#[test]
fn who_answers_is_asked_once() {
    let course = Course::UntilAnswered { retries: 3, backoff: 1.5 };
    let all = happenings(&task(&["127.0.0.1", "127.0.0.2"], course));
    let replies = all.iter().filter(|happening| matches!(happening, Happening::Reply(..))).count();
    assert_eq!((replies, all.len()), (2, 4), "{all:?}");
}

#[test]
fn who_is_asked_to_stop_sends_nothing() {
    let stop = Stop::default();
    stop.request();
    let course = Course::Every { count: None, period: Nanos::secs(1) };
    let mut any = false;
    run(&task(&["127.0.0.1"], course), &stop, &Arc::default(), &mut |_| any = true).unwrap();
    assert!(!any);
}
