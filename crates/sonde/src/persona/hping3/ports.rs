//! The ports of a scan as they are written: `80`, `1-100`, `all`, `known`, each with `!` in front to leave them out, separated
//! by commas; the last one that names a port counts.

/// Ports as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The words.
    pub text: String,
    parts: Vec<(bool, Part)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Range(u16, u16),
    Known,
}

impl Ports {
    /// Reads them; `None` where they are none.
    pub fn read(text: &str) -> Option<Self> {
        let parts = text.split(',').filter(|word| !word.is_empty()).map(part).collect::<Option<Vec<_>>>()?;
        (!parts.is_empty()).then(|| Self { text: text.to_owned(), parts })
    }

    /// True where the host's list of services is asked for.
    pub fn wants_known(&self) -> bool {
        self.parts.iter().any(|(_, part)| *part == Part::Known)
    }

    /// The ports, each once, in their order; `known` are those with a name.
    pub fn all(&self, known: &[u16]) -> Vec<u16> {
        let mut chosen = vec![false; usize::from(u16::MAX) + 1];
        for (wanted, part) in &self.parts {
            match part {
                Part::Range(low, high) => chosen[usize::from(*low)..=usize::from(*high)].fill(*wanted),
                Part::Known => known.iter().for_each(|port| chosen[usize::from(*port)] = *wanted),
            }
        }
        (0..=u16::MAX).filter(|port| chosen[usize::from(*port)]).collect()
    }
}

fn part(word: &str) -> Option<(bool, Part)> {
    let (wanted, word) = word.strip_prefix('!').map_or((true, word), |rest| (false, rest));
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|_| is_number)
    };
    let part = match (word, word.split_once('-')) {
        ("all", _) => Part::Range(0, u16::MAX),
        ("known", _) => Part::Known,
        (_, Some((first, last))) => {
            let (first, last) = (number(first)?, number(last)?);
            Part::Range(first.min(last), first.max(last))
        }
        (one, None) => number(one).map(|port| Part::Range(port, port))?,
    };
    Some((wanted, part))
}

/// Names of ports by the lines of a host's list of services (services(5)): the first name of each.
pub fn names(services: &str) -> std::collections::BTreeMap<u16, String> {
    let mut names = std::collections::BTreeMap::new();
    for line in services.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let (Some(name), Some(place)) = (words.next(), words.next()) else { continue };
        let port = place.split_once('/').and_then(|(port, _)| port.parse().ok());
        if let Some(port) = port {
            names.entry(port).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("80", &[80]; "one")]
    #[test_case("20-22,25", &[20, 21, 22, 25]; "a range and one")]
    #[test_case("22-20", &[20, 21, 22]; "a range the other way round")]
    #[test_case("20-24,!21-23", &[20, 24]; "some of them not")]
    #[test_case("known,!53,8080", &[22, 8_080]; "those with a name")]
    #[test_case("65535,0", &[0, 65_535]; "the last and the first")]
    fn ports(text: &str, expected: &[u16]) {
        assert_eq!(Ports::read(text).unwrap().all(&[22, 53]), expected);
    }

    #[test_case(""; "nothing")]
    #[test_case(","; "nothing twice")]
    #[test_case("65536"; "too large")]
    #[test_case("1-"; "half a range")]
    #[test_case("+5"; "a sign")]
    #[test_case("ssh"; "a name")]
    fn no_ports(text: &str) {
        assert_eq!(Ports::read(text), None);
    }

    #[test]
    fn names_of_a_list() {
        let names = names("# a list\nssh\t22/tcp\t# login\ndomain 53/udp\ndomain 53/tcp\nodd 99999/tcp\nhalf\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [(22, "ssh".to_owned()), (53, "domain".to_owned())]);
    }
}
