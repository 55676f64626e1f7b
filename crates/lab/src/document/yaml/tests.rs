//! YAML with anchors, merges and damage: what it stands for, and what is refused.

use proptest::prelude::*;
use test_case::test_case;

use super::*;

const SHARED: &str = "\
base: &base {zone: a, size: 1}
more: &more {size: 2, user: u}
one: *base
two:
  <<: *base
  zone: b
three:
  size: '3'
  <<: [*more, *base]
list: [&word x, *word]
*word : key
";

/// `text` as one would write it without anchors: `{name: value}`, `[item]`, texts in quotes.
fn plain(node: &Node) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::Null => "~".to_owned(),
        Value::Hidden => "?".to_owned(),
        Value::Word(word) => word.clone(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", joined(items.iter().map(plain).collect())),
        Value::Map(entries) => {
            format!("{{{}}}", joined(entries.iter().map(|(name, node)| format!("{name}: {}", plain(node))).collect()))
        }
    }
}

#[test]
fn an_alias_is_what_its_anchor_is_and_a_merge_gives_way() {
    let document = read(SHARED).unwrap();
    let said = |name: &str| plain(document.get(name).unwrap());
    assert_eq!(said("one"), "{zone: a, size: 1}");
    assert_eq!(said("two"), "{zone: b, size: 1}");
    assert_eq!(said("three"), "{size: \"3\", user: u, zone: a}");
    assert_eq!(said("list"), "[x, x]");
    assert_eq!(said("x"), "key");
    assert_eq!(document.get("two").map(|node| node.line), Some(5));
}

#[test_case("a: &a 1\nb: &a 2\nc: *a\n", "{a: 1, b: 2, c: 2}"; "the last anchor of a name")]
#[test_case("a: &a {<<: {b: 1}}\nc: {<<: *a}\n", "{a: {b: 1}, c: {b: 1}}"; "a merge of a merge")]
#[test_case("{a: ~, b: '~', c: null, d: \"null\", e: !!str null, f: !vault x}", "{a: ~, b: \"~\", c: ~, d: \"null\", e: \"null\", f: ?}"; "nothing and texts")]
#[test_case("a: |\n  one\n  two\nb: >-\n  one\n  two\n", "{a: \"one\\ntwo\\n\", b: \"one two\"}"; "blocks")]
#[test_case("", "~"; "no document")]
fn a_document_stands_for(text: &str, plainly: &str) {
    assert_eq!(plain(&read(text).unwrap()), plainly);
}

#[test_case("a: &a [*a]", 1, "an alias for what is not complete"; "an alias in itself")]
#[test_case("a: &a\n  b: {<<: *a}", 2, "an alias for what is not complete"; "a merge of itself")]
#[test_case("a: 1\nb: *c", 2, "no YAML"; "an alias of nothing")]
#[test_case("a: 1\nb: 2\na: 3", 3, "a second key `a`: the first stands in line 1"; "a key twice")]
#[test_case("a: {b: 1, c: 2,\n b: 3}", 2, "a second key `b`: the first stands in line 1"; "a key twice in braces")]
#[test_case("a:\n  <<: 3", 2, "`<<` with a single value"; "a merge of a word")]
#[test_case("a:\n  <<: [{b: 1}, [c]]", 2, "`<<` with a list"; "a merge of a list in a list")]
#[test_case("? [a]\n: b", 1, "a list for a key"; "a list for a key")]
#[test_case("a: 1\n---\nb: 2", 2, "a second document"; "two documents")]
#[test_case("a: [1, 2", 2, "no YAML"; "an open list")]
#[test_case("a:\n\tb: 1", 2, "no YAML"; "a tab")]
#[test_case("  a: 1\nb: 2", 2, "no YAML"; "further out")]
fn what_is_wrong_is_said_with_its_line(text: &str, line: usize, what: &str) {
    let fault = read(text).unwrap_err();
    assert!(fault.what.starts_with(what), "{fault}");
    assert_eq!(fault.line, line, "{fault}");
}

#[test]
fn a_few_lines_do_not_stand_for_more_than_memory_holds() {
    let level = |level: u32| format!("a{level}: &a{level} {{<<: *a{0}, b: [*a{0}, *a{0}, *a{0}]}}\n", level - 1);
    let lines: String = (1..40).map(level).collect();
    let fault = read(&format!("a0: &a0 {{c: d}}\n{lines}")).unwrap_err();
    assert!(fault.what.starts_with("more values than a file may have"), "{fault}");
    assert!(fault.line < 20, "{fault}");
    let nested = format!("{}x{}", "[".repeat(DEEPEST + 1), "]".repeat(DEEPEST + 1));
    assert_eq!(read(&nested).unwrap_err().what, "values lie in more than 64 others");
}

proptest! {
    #[test]
    fn no_damage_is_a_panic(at in 0..SHARED.len(), cut in 0_usize..9, with in "[&*a<:\\[{\\]},'\" \n-]{0,4}") {
        let end = (at + cut).min(SHARED.len());
        if let Ok(document) = read(&format!("{}{with}{}", &SHARED[..at], &SHARED[end..])) {
            // A document that was read holds no key twice, whatever was merged.
            for (_, node) in document.entries() {
                let names: BTreeSet<&String> = node.entries().iter().map(|(name, _)| name).collect();
                prop_assert_eq!(names.len(), node.entries().len());
            }
        }
    }
}
