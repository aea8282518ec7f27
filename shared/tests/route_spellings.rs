//! Whatever spelling of a gated path some shop understands, the gate must understand too.

#![expect(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

use proptest::prelude::*;
use shared::config::Config;
use shared::http::path::CanonicalPath;
use shared::http::reason::Reason;
use shared::http::route::{RequestLine, RouteTarget, find};
use std::sync::LazyLock;

static DEMO: LazyLock<Config> =
    LazyLock::new(|| Config::parse("fairgate.toml", include_str!("../../tests/demo/fairgate.toml")).unwrap());

/// Whether a `POST` of this path is gated; `Err`: it is refused, or it would pass.
fn gate(path: &str) -> Result<&'static str, Option<Reason>> {
    match find(&DEMO, &RequestLine { method: "POST", host: "localhost:8700", path }) {
        Ok(found) => match found.target {
            RouteTarget::Gated { route, .. } => Ok(&route.id),
            _ => Err(None),
        },
        Err(unroutable) => Err(Some(unroutable.reason)),
    }
}

const GATED: Result<&str, Option<Reason>> = Ok("POST /api/cart/items");

/// One way in which a server may read a path. What any of them takes for the gated one must be gated or refused.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one habit of some server, and all of them combine"
)]
struct Reader {
    decodings: usize,
    splits_at_backslash: bool,
    drops_params_first: bool,
    drops_params_last: bool,
    merges_slashes_first: bool,
    merges_slashes_last: bool,
    resolves_dots: bool,
    drops_extension: bool,
    trims_spaces: bool,
    reads_decoded_query: bool,
}

impl Reader {
    fn reads(self, path: &str) -> Vec<String> {
        let mut path = path.split(['?', '#']).next().unwrap().to_owned();
        if self.drops_params_first {
            path = Self::without_params(&path);
        }
        for _ in 0..self.decodings {
            path = decode_lossy(&path);
        }
        if self.reads_decoded_query {
            path = path.split(['?', '#']).next().unwrap().to_owned();
        }
        if self.splits_at_backslash {
            path = path.replace('\\', "/");
        }
        if self.drops_params_last {
            path = Self::without_params(&path);
        }
        let mut segments: Vec<String> = path.split('/').skip(1).map(str::to_lowercase).collect();
        if self.trims_spaces {
            for segment in &mut segments {
                *segment = segment.trim_end_matches(' ').to_owned();
            }
        }
        if self.merges_slashes_first {
            segments.retain(|segment| !segment.is_empty());
        }
        if self.resolves_dots {
            let mut resolved: Vec<String> = Vec::new();
            for segment in segments {
                match segment.as_str() {
                    "." => {}
                    ".." => drop(resolved.pop()),
                    _ => resolved.push(segment),
                }
            }
            segments = resolved;
        }
        if self.merges_slashes_last {
            segments.retain(|segment| !segment.is_empty());
        }
        if segments.last().is_some_and(String::is_empty) {
            segments.pop();
        }
        if let Some(last) = segments.last_mut().filter(|_| self.drops_extension) {
            *last = last.split('.').next().unwrap().to_owned();
        }
        segments
    }

    fn without_params(path: &str) -> String {
        path.split('/').map(|segment| segment.split(';').next().unwrap()).collect::<Vec<_>>().join("/")
    }
}

fn decode_lossy(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%');
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn reader() -> impl Strategy<Value = Reader> {
    (0..=2_usize, any::<[bool; 9]>()).prop_map(|(decodings, switches)| Reader {
        decodings,
        splits_at_backslash: switches[0],
        drops_params_first: switches[1],
        drops_params_last: switches[2],
        merges_slashes_first: switches[3],
        merges_slashes_last: switches[4],
        resolves_dots: switches[5],
        drops_extension: switches[6],
        trims_spaces: switches[7],
        reads_decoded_query: switches[8],
    })
}

/// The gated path with pieces put between its segments that some reader removes.
fn nearly_gated() -> impl Strategy<Value = String> {
    let slash = prop_oneof![8 => Just("/"), 1 => Just("//"), 1 => Just("\\"), 1 => Just("%2F"), 1 => Just("%5c"), 1 => Just("%252f")];
    let detour = prop_oneof![
        8 => Just(""), 1 => Just("./"), 1 => Just("x/../"), 1 => Just("x//../"), 1 => Just("x/..;/"), 1 => Just("%2e/"),
        1 => Just("..;a/../"), 1 => Just("x/%2e%2E/"), 1 => Just(";a/"), 1 => Just("%2e%2e%2f"), 1 => Just("../"),
    ];
    let tail = prop_oneof![6 => Just(""), 1 => Just(";a=1"), 1 => Just("%3b"), 1 => Just(".json"), 1 => Just("/"), 1 => Just("/."), 1 => Just("/x/.."), 1 => Just("%20"), 1 => Just("%3F"), 1 => Just("/.%3fx"), 1 => Just("%23/x")];
    let segment = |plain: &'static str, odd: [&'static str; 3]| prop_oneof![6 => Just(plain), 1 => Just(odd[0]), 1 => Just(odd[1]), 1 => Just(odd[2])];
    let segments = (
        segment("api", ["%61pi", "API", "%2561pi"]),
        segment("cart", ["c%41rt", "cart;x", "Cart"]),
        segment("items", ["item%73", "items", "ITEMS"]),
    );
    (prop::array::uniform3((slash, detour)), segments, tail).prop_map(|(between, segments, tail)| {
        let [(s1, d1), (s2, d2), (s3, d3)] = between;
        let (api, cart, items) = segments;
        format!("{s1}{d1}{api}{s2}{d2}{cart}{s3}{d3}{items}{tail}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn whatever_a_shop_takes_for_the_gated_path_is_gated_or_refused(path in nearly_gated(), reader in reader()) {
        if reader.reads(&path) == ["api", "cart", "items"] {
            let outcome = gate(&path);
            let is_safe = outcome == GATED || outcome == Err(Some(Reason::PathInvalid));
            prop_assert!(is_safe, "{outcome:?} for {path} by {reader:?}");
        }
    }

    #[test]
    fn normalising_twice_changes_nothing(path in "/[a-zA-Z0-9/.;%\\\\_~@ſK-]{0,40}") {
        if let Ok(once) = CanonicalPath::parse(&path) {
            let twice = CanonicalPath::parse(&once.to_string()).unwrap();
            prop_assert_eq!(once.segments(), twice.segments());
            prop_assert_eq!(once.to_string(), twice.to_string());
        }
    }

    #[test]
    fn case_encoding_and_slashes_never_change_the_route(
        choices in prop::collection::vec((any::<bool>(), any::<bool>()), 15),
        slashes in prop::array::uniform4(1..4_usize),
    ) {
        let mut choices = choices.into_iter().cycle();
        let mut spell = |text: &str| -> String {
            text.chars().map(|letter| match choices.next().unwrap() {
                (true, true) => format!("%{:02x}", u32::from(letter)),
                (true, false) => letter.to_ascii_uppercase().to_string(),
                (false, _) => letter.to_string(),
            }).collect()
        };
        let [first, second, third, last] = slashes.map(|count| "/".repeat(count));
        let path = format!("{first}{}{second}{}{third}{}{last}", spell("api"), spell("cart"), spell("items"));
        prop_assert_eq!(gate(&path), GATED);
    }
}
