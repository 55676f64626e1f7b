//! Licence expressions: names joined by `AND`, `OR` (or the old `/`), with brackets; `X WITH Y` is a name.

/// Licences that must be accepted to use something.
#[derive(Debug, PartialEq, Eq)]
pub enum Expression {
    Name(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Reads an expression; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        let expression = any(&mut rest)?;
        rest.is_empty().then_some(expression)
    }

    /// Returns true where accepting the licences of `allowed` is enough.
    pub fn holds(&self, allowed: &[String]) -> bool {
        match self {
            Self::Name(name) => allowed.contains(name),
            Self::All(parts) => parts.iter().all(|part| part.holds(allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(allowed)),
        }
    }
}

/// `AND` binds closer than `OR`.
fn any(rest: &mut &[&str]) -> Option<Expression> {
    Some(Expression::Any(joined(rest, "OR", all)?))
}

fn all(rest: &mut &[&str]) -> Option<Expression> {
    Some(Expression::All(joined(rest, "AND", one)?))
}

fn joined(rest: &mut &[&str], word: &str, part: fn(&mut &[&str]) -> Option<Expression>) -> Option<Vec<Expression>> {
    let mut parts = vec![part(rest)?];
    while take(rest, word) {
        parts.push(part(rest)?);
    }
    Some(parts)
}

fn one(rest: &mut &[&str]) -> Option<Expression> {
    if take(rest, "(") {
        let inner = any(rest)?;
        return take(rest, ")").then_some(inner);
    }
    let name = word(rest)?;
    if take(rest, "WITH") {
        return Some(Expression::Name(format!("{name} WITH {}", word(rest)?)));
    }
    Some(Expression::Name(name.to_owned()))
}

fn word<'a>(rest: &mut &[&'a str]) -> Option<&'a str> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    (!["AND", "OR", "WITH", "(", ")"].contains(first)).then_some(*first)
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    let Some((_, tail)) = rest.split_first().filter(|(first, _)| **first == word) else { return false };
    *rest = tail;
    true
}

#[test]
fn an_expression_holds_when_its_licences_are_allowed() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    let holds = |text| Expression::parse(text).map(|expression| expression.holds(&allowed));
    assert_eq!(holds("MIT"), Some(true));
    assert_eq!(holds("GPL-3.0 OR MIT"), Some(true));
    assert_eq!(holds("GPL-3.0/MIT"), Some(true));
    assert_eq!(holds("GPL-3.0 AND MIT"), Some(false));
    assert_eq!(holds("GPL-3.0 OR MIT AND GPL-2.0"), Some(false));
    assert_eq!(holds("(MIT OR GPL-3.0) AND Unicode-3.0"), Some(true));
    assert_eq!(holds("Apache-2.0 WITH LLVM-exception"), Some(true));
    assert_eq!(holds("Apache-2.0"), Some(false));
}

#[test]
fn what_is_no_expression_is_none() {
    for text in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT MIT", "MIT WITH"] {
        assert_eq!(Expression::parse(text), None, "{text}");
    }
}
