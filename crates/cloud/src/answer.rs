//! Reads single values out of what the vendors' programs print, which is JSON of any shape.
//!
//! A path is keys and indices with dots between (`Vpcs.0.VpcId`), `a|b` is the first of both that is there, and a `/` at the end
//! takes what stands behind the last slash of the value (`zone/` of `…/zones/us-central1-a`). `*` in a path to several values
//! stands for every element of a list.

use serde_json::Value;

/// The longest value that is taken over: identifiers of clouds are far shorter.
const LONGEST: usize = 1024;

/// The text, number or truth value at `path`, as text. `None`: there is none, or it is nothing that may stand in a command.
pub fn scalar(value: &Value, path: &str) -> Option<String> {
    path.split('|').find_map(|path| {
        let (path, last) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        let text = match at(value, path)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let text = if last { text.rsplit('/').next().unwrap_or_default().to_owned() } else { text };
        is_sound(&text).then_some(text)
    })
}

/// The same, where it may be a sentence: for people, never for a command.
pub fn sentence(value: &Value, path: &str) -> Option<String> {
    let text = at(value, path)?.as_str()?;
    let clean: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    (!clean.trim().is_empty()).then(|| clean.trim().chars().take(LONGEST).collect())
}

/// Every value at `path`, in which `*` stands for each element of a list; an empty path is the value itself.
pub fn each<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('.').filter(|key| !key.is_empty()).fold(vec![value], |values, key| {
        let inner = values.into_iter();
        match key {
            "*" => inner.filter_map(Value::as_array).flatten().collect(),
            key => inner.filter_map(|value| step(value, key)).collect(),
        }
    })
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|key| !key.is_empty()).try_fold(value, step)
}

fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match key.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(key),
    }
}

/// Returns true where `text` may be a word of a command: it goes to no shell, but must not be taken for an option or a
/// placeholder.
fn is_sound(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_ascii_graphic() && letter != '$')
}

/// A path as the vendors' own options for picking a value write it: `Vpcs[0].VpcId`. The first of alternatives is taken.
pub fn picked(path: &str) -> String {
    let first = path.split('|').next().unwrap_or_default().trim_end_matches('/');
    let parts = first.split('.').map(|key| match key.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{key}"),
    });
    parts.collect::<String>().trim_start_matches('.').to_owned()
}

/// Marks of a thing: `labels` or `tags` that are an object, `Tags` that are a list of `Key` and `Value`, and words
/// `key=value` of a `description`, for things that can carry neither.
pub fn marks(item: &Value) -> std::collections::BTreeMap<String, String> {
    let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let objects = ["labels", "tags"].into_iter().filter_map(|key| item.get(key)?.as_object());
    let mut marks: std::collections::BTreeMap<_, _> = objects.flatten().filter_map(pair).collect();
    let listed = item.get("Tags").and_then(Value::as_array).into_iter().flatten();
    marks.extend(
        listed.filter_map(|tag| Some((tag.get("Key")?.as_str()?.to_owned(), tag.get("Value")?.as_str()?.to_owned()))),
    );
    let described = item.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = described.split_whitespace().filter_map(|word| word.split_once('='));
    marks.extend(words.map(|(key, value)| (key.to_owned(), value.to_owned())));
    marks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_a_value() {
        let value =
            json!({"Vpcs": [{"VpcId": "vpc-1", "On": true, "N": 4, "zone": "https://x/zones/us-a", "Null": null}]});
        assert_eq!(scalar(&value, "Vpcs.0.VpcId").as_deref(), Some("vpc-1"));
        assert_eq!(scalar(&value, "Vpcs.0.On").as_deref(), Some("true"));
        assert_eq!(scalar(&value, "Vpcs.0.N").as_deref(), Some("4"));
        assert_eq!(scalar(&value, "Vpcs.0.zone/").as_deref(), Some("us-a"));
        assert_eq!(scalar(&value, "Vpcs.1.VpcId|Vpcs.0.VpcId").as_deref(), Some("vpc-1"));
        for none in ["Vpcs", "Vpcs.0.Null", "Vpcs.0", "Vpcs.1.VpcId", "Vpcs.x", ""] {
            assert_eq!(scalar(&value, none), None, "{none}");
        }
        assert_eq!(picked("Vpcs.0.VpcId|x"), "Vpcs[0].VpcId");
        assert_eq!(picked("0.zone/"), "[0].zone");
    }

    #[test]
    fn what_may_not_stand_in_a_command_is_not_read() {
        for text in ["", "--help", "a b", "a\nb", "$HOME", "é", &"x".repeat(2000)] {
            assert_eq!(scalar(&json!({"id": text}), "id"), None, "{text:?}");
        }
    }

    #[test]
    fn every_element_is_found() {
        let value = json!({"Reservations": [{"Instances": [{"Id": 1}, {"Id": 2}]}, {}, {"Instances": [{"Id": 3}]}]});
        let found = each(&value, "Reservations.*.Instances.*");
        assert_eq!(found.iter().filter_map(|item| scalar(item, "Id")).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!(each(&value, "").len(), 1);
        assert!(each(&value, "No.*.Such").is_empty());
    }

    #[test]
    fn marks_are_read_in_every_form() {
        for item in [
            json!({"labels": {"sonde-run": "a"}}),
            json!({"tags": {"sonde-run": "a"}}),
            json!({"Tags": [{"Key": "sonde-run", "Value": "a"}, {"Key": 3}]}),
            json!({"description": "made by sonde-run=a sonde-expires=3"}),
        ] {
            assert_eq!(marks(&item).get("sonde-run").map(String::as_str), Some("a"), "{item}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 5, |inner| {
            let key = prop_oneof![
                Just("Tags".to_owned()),
                Just("labels".to_owned()),
                Just("description".to_owned()),
                Just("Vpcs".to_owned()),
                Just("Key".to_owned()),
                "[a-z]{0,4}"
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_and_no_path_make_a_reader_panic(value in any_json(), path in "[a-zA-Z0-9.*|/]{0,16}") {
            if let Some(text) = scalar(&value, &path) {
                prop_assert!(is_sound(&text));
            }
            for item in each(&value, &path) {
                marks(item);
            }
            marks(&value);
            sentence(&value, &path);
            picked(&path);
        }
    }
}
