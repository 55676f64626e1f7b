//! Ranges in names, as Ansible writes them: `web[01:10]`, `db-[a:f]`, `n[0:30:5]`.

use std::net::Ipv6Addr;

use logbook::plan::MOST_HOSTS;

/// The names that `pattern` stands for, or why there are none.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, from)) = rest.split_once('[') {
        let (range, after) = from.split_once(']').ok_or_else(|| format!("`{pattern}`: a bracket is not closed"))?;
        let parts =
            if range.parse::<Ipv6Addr>().is_ok() { vec![format!("[{range}]")] } else { values(range, pattern)? };
        if names.len().saturating_mul(parts.len()) > MOST_HOSTS {
            return Err(format!("`{pattern}` stands for more than {MOST_HOSTS} hosts"));
        }
        let join = |name: &String| parts.iter().map(|part| format!("{name}{before}{part}")).collect::<Vec<_>>();
        names = names.iter().flat_map(join).collect();
        rest = after;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// The values of `from:to` or `from:to:step`.
fn values(range: &str, pattern: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{pattern}`: `[{range}]` is no range, as [01:10], [a:f] or [0:30:5]");
    let parts: Vec<&str> = range.split(':').collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] => (*from, *to, step.parse().ok().filter(|step| *step > 0).ok_or_else(wrong)?),
        _ => return Err(wrong()),
    };
    let from = if from.is_empty() { "0" } else { from };
    if let (Some(first), Some(last)) = (letter(from), letter(to)) {
        return if first <= last { Ok((first..=last).step_by(step).map(String::from).collect()) } else { Err(wrong()) };
    }
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (first, last) = number(from).zip(number(to)).filter(|(first, last)| first <= last).ok_or_else(wrong)?;
    // A leading zero says how wide all of them are.
    let width = if from.starts_with('0') && from.len() > 1 { from.len().min(10) } else { 0 };
    let numbers = (first..=last).step_by(step);
    // One more than may be, so that the names are counted as too many and not made.
    Ok(numbers.take(MOST_HOSTS + 1).map(|number| format!("{number:0width$}")).collect())
}

fn letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|letter| letter.is_ascii_alphabetic() && letters.next().is_none())
}
