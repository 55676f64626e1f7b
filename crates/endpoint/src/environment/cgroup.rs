//! CPU limit of the control group: a container's limit shows nowhere else, and throttling looks like a stall.

use super::files::{Files, Notes};

/// Notes the tightest CPU limit of the process's control group and those above it, as `cgroup.cpu_limit`: the CPU time
/// of a period over the period, or `none`.
pub(super) fn read(files: &Files, notes: &mut Notes) {
    match Group::find(files) {
        Ok(group) => match group.limit(files) {
            Some(limit) => notes.set("cgroup.cpu_limit", format!("{} us in {} us", limit.quota_us, limit.period_us)),
            None => notes.set("cgroup.cpu_limit", "none"),
        },
        Err(reason) => notes.unread("cgroup CPU limit", reason),
    }
}

/// Throttled periods of the process's control group, and for how many microseconds: `cgroup.nr_throttled`,
/// `cgroup.throttled_us`.
pub(super) fn counters(files: &Files, mut take: impl FnMut(&str, i64)) {
    let Ok(group) = Group::find(files) else { return };
    let Ok(stat) = files.text(&format!("{}{}/cpu.stat", group.mount, group.path)) else { return };
    let value = |key: &str| -> Option<i64> {
        stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
    };
    if let Some(periods) = value("nr_throttled") {
        take("nr_throttled", periods);
    }
    // Version 2 counts microseconds, version 1 nanoseconds.
    if let Some(micros) = value("throttled_usec").or_else(|| Some(value("throttled_time")? / 1_000)) {
        take("throttled_us", micros);
    }
}

/// The control group that rules the process's CPU time.
#[derive(Debug)]
struct Group {
    /// Mount point of its hierarchy.
    mount: String,
    /// Its path below that, starting with `/`; empty for the hierarchy's root.
    path: String,
    unified: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    quota_us: u64,
    period_us: u64,
}

impl Group {
    /// The version 1 group with the `cpu` controller where there is one, for then version 2 has it not.
    fn find(files: &Files) -> Result<Self, String> {
        let groups = files.text("/proc/self/cgroup").map_err(|reason| format!("/proc/self/cgroup {reason}"))?;
        let mounts = files.text("/proc/self/mountinfo").map_err(|reason| format!("/proc/self/mountinfo {reason}"))?;
        let (mut first, mut second) = (None, None);
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            if controllers.is_empty() {
                second = Some(path);
            } else if controllers.split(',').any(|controller| controller == "cpu") {
                first = Some(path);
            }
        }
        let (path, unified) = first.map(|path| (path, false)).or(second.map(|path| (path, true))).ok_or("no group")?;
        let (mount, root) =
            mounts.lines().find_map(|line| mount_of(line, unified)).ok_or("its hierarchy is not mounted")?;
        // A container may see only its own part of the hierarchy mounted.
        let path = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path).trim_end_matches('/').to_owned();
        Ok(Self { mount, path, unified })
    }

    /// The tightest limit from here up to the root of what is mounted.
    fn limit(&self, files: &Files) -> Option<Limit> {
        let mut path = self.path.as_str();
        let mut limits = Vec::new();
        loop {
            limits.extend(self.limit_at(files, path));
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
        // a/b < c/d without fractions.
        limits.into_iter().min_by(|a, b| {
            let cross = |x: &Limit, y: &Limit| u128::from(x.quota_us) * u128::from(y.period_us);
            cross(a, b).cmp(&cross(b, a))
        })
    }

    fn limit_at(&self, files: &Files, path: &str) -> Option<Limit> {
        let at = |file: &str| format!("{}{path}/{file}", self.mount);
        if self.unified {
            let text = files.text(&at("cpu.max")).ok()?;
            let (quota, period) = text.split_once(' ')?;
            // `max` is no number: no limit.
            return Some(Limit { quota_us: quota.parse().ok()?, period_us: period.parse().ok()? });
        }
        // -1, which is no u64: no limit.
        Some(Limit {
            quota_us: files.number(&at("cpu.cfs_quota_us"))?,
            period_us: files.number(&at("cpu.cfs_period_us"))?,
        })
    }
}

/// Mount point and root of a line of mountinfo (proc(5)), if it is the hierarchy looked for.
fn mount_of(line: &str, unified: bool) -> Option<(String, String)> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1)?);
    let ours = match kind {
        "cgroup2" => unified,
        "cgroup" => !unified && options.split(',').any(|option| option == "cpu"),
        _ => false,
    };
    ours.then(|| (point.to_owned(), root.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::files::planted::Tree;
    use super::*;

    const CONTAINER: &str = "== /proc/self/cgroup
0::/pod/app
== /proc/self/mountinfo
30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
== /sys/fs/cgroup/pod/app/cpu.max
150000 100000
== /sys/fs/cgroup/pod/cpu.max
50000 50000
== /sys/fs/cgroup/pod/app/cpu.stat
usage_usec 5
nr_periods 9
nr_throttled 4
throttled_usec 1234
";

    fn limit_of(tree: &Tree) -> Option<String> {
        let mut notes = Notes::default();
        read(&tree.files(), &mut notes);
        notes.settings.remove("cgroup.cpu_limit")
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_holds() {
        let tree = Tree::of(CONTAINER);
        // One CPU for the pod is less than one and a half for the app.
        assert_eq!(limit_of(&tree).as_deref(), Some("50000 us in 50000 us"));
        tree.put("/sys/fs/cgroup/pod/cpu.max", "max 100000\n");
        assert_eq!(limit_of(&tree).as_deref(), Some("150000 us in 100000 us"));
        tree.put("/sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
        assert_eq!(limit_of(&tree).as_deref(), Some("none"));
    }

    #[test]
    fn throttling_is_counted() {
        let mut seen = Vec::new();
        counters(&Tree::of(CONTAINER).files(), |what, value| seen.push((what.to_owned(), value)));
        assert_eq!(seen, [("nr_throttled".to_owned(), 4), ("throttled_us".to_owned(), 1_234)]);
    }

    #[test]
    fn version_1_is_read_where_it_has_the_controller() {
        let tree = Tree::of(
            "== /proc/self/cgroup
3:cpuset:/
1:cpu,cpuacct:/docker/abc
0::/docker/abc
== /proc/self/mountinfo
32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
== /sys/fs/cgroup/cpu/cpu.cfs_quota_us
20000
== /sys/fs/cgroup/cpu/cpu.cfs_period_us
100000
== /sys/fs/cgroup/cpu/cpu.stat
nr_throttled 2
throttled_time 7000000
",
        );
        assert_eq!(limit_of(&tree).as_deref(), Some("20000 us in 100000 us"));
        let mut seen = Vec::new();
        counters(&tree.files(), |what, value| seen.push((what.to_owned(), value)));
        assert!(seen.contains(&("throttled_us".to_owned(), 7_000)), "{seen:?}");
        tree.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        assert_eq!(limit_of(&tree).as_deref(), Some("none"));
    }

    #[test]
    fn without_a_group_the_limit_is_unread() {
        let mut notes = Notes::default();
        read(&Tree::of("== /proc/x\n").files(), &mut notes);
        assert_eq!((notes.settings.len(), notes.unread.len()), (0, 1));
    }
}
