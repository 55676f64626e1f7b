//! Runs of the original as fixtures: command line and standard output of each end.

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/iperf3");

/// One run of one end.
#[derive(Clone, Debug)]
pub struct Run {
    /// The file that it stands in.
    pub file: String,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
}

/// A file of the fixtures.
pub fn file(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap()
}

/// The names of all files that end so, in order.
pub fn names(ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(ending) && name != "about.txt").collect();
    names.sort_unstable();
    names
}

/// The runs of the version 3.21 that printed text, of clients or of servers. Those of a server are apart.
pub fn runs() -> Vec<Run> {
    let files = names(".txt").into_iter().map(|name| (file(&name), name));
    files.filter(|(text, _)| text.contains("client: iperf3 3.21")).flat_map(|(text, name)| of(&text, &name)).collect()
}

fn of(text: &str, name: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    for section in text.split("\n===== ").skip(1) {
        let (head, rest) = section.split_once('\n').unwrap();
        let command = head.split_once("$ iperf3").unwrap().1;
        let command = command.split_once("     (").map_or(command, |(command, _)| command);
        let Some((_, printed)) = rest.split_once("----- stdout\n") else { continue };
        let end = printed.find("\n----- ").unwrap();
        // Lines of the shell behind the command.
        let of_shell =
            |line: &&str| ["client exit", "c2s flow", "s2c flow"].iter().any(|start| line.starts_with(start));
        let stdout = printed[..=end].split_inclusive('\n').filter(|line| !of_shell(line)).collect();
        let words = command.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
        runs.push(Run { file: name.to_owned(), words, stdout });
    }
    runs
}

/// Output of a server for each of its tests: from the accepted connection up to the next time it listens.
pub fn served(stdout: &str) -> Vec<String> {
    let rule = "-----------------------------------------------------------\n";
    let parts = stdout.split(rule).filter(|part| part.contains("Accepted connection"));
    // With -V the version and the system stand between two tests.
    let cut = |part: &str| part.split("iperf 3.21\n").next().unwrap().to_owned();
    parts.map(cut).collect()
}
