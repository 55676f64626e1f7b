//! This program, as it names itself.

use logbook::document::Tool;

/// Its name for peers.
pub const PROGRAM: &str = concat!("sonde ", env!("CARGO_PKG_VERSION"));

/// Its name in records.
pub fn tool() -> Tool {
    Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The source, compiler and form of this program. `make/dist` names the first two; what was not named is absent.
///
/// It holds no time and no path, so that two builds of one revision are the same octets.
pub fn built() -> String {
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let target = option_env!("SONDE_BUILT_FOR").map_or_else(here, str::to_owned);
    let optimised = if cfg!(debug_assertions) { "checks of a debug build" } else { "optimised" };
    let profile = option_env!("SONDE_BUILT_PROFILE").map_or_else(|| optimised.to_owned(), str::to_owned);
    let mut lines = vec![PROGRAM.to_owned()];
    let mut line = |name: &str, value: Option<&str>| {
        lines.extend(value.map(|value| format!("{:<10}{value}", format!("{name}:"))));
    };
    line("revision", option_env!("SONDE_BUILT_REVISION"));
    line("target", Some(&format!("{target}, {linked}")));
    line("profile", Some(&profile));
    line("rustc", option_env!("SONDE_BUILT_RUSTC"));
    lines.join("\n") + "\n"
}

/// The machine that it was compiled for, where its triple was not named.
fn here() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}
