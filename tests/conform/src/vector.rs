//! One row: a limiter, what is asked of it, and what is right.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// One row of a file of vectors. Its steps act on keys that were never seen.
#[derive(Clone, Debug, Deserialize)]
pub struct Vector {
    pub name: String,
    pub limiter: String,
    pub policy: Fields,
    pub steps: Vec<Step>,
    #[serde(default)]
    pub note: String,
    /// The concern that it belongs to; a row of somebody else's may have none.
    #[serde(default)]
    pub about: Option<String>,
    /// Faults seen elsewhere that it would find; `faults.jsonl` describes them.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Why the row is none; whoever runs it reports that.
    #[serde(skip)]
    pub unreadable: Option<String>,
}

/// One call, and what its answer has to be.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    #[serde(flatten)]
    pub call: Call,
    pub want: Map<String, Value>,
}

/// One call, as a limiter gets to see it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Call {
    pub t_us: u64,
    #[serde(default)]
    pub op: Op,
    #[serde(default = "one")]
    pub cost: u64,
    /// Who takes or gives back a permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When the cost that a refund gives back was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_us: Option<u64>,
    /// The policy that counts from here on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit: Option<String>,
    /// Every other field names the key of a layer; in a row of one limiter, `key` names the key.
    #[serde(flatten)]
    pub keys: Map<String, Value>,
}

/// What a call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    #[default]
    Take,
    Peek,
    Refund,
    Give,
    SetPolicy,
}

/// A JSON object whose order counts: of two layers that bind alike, the first is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Value)>);

/// A vector as a limiter gets to see it: without what is right.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Case {
    pub name: String,
    pub limiter: String,
    pub policy: Fields,
    pub steps: Vec<Call>,
}

impl Vector {
    /// Reads one line of JSON. A line that is no vector becomes one that says so, because a row is never skipped.
    pub fn read(place: &str, line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_else(|error| {
            let row: Value = serde_json::from_str(line).unwrap_or_default();
            let text = |field: &str| row[field].as_str().map(str::to_owned);
            Self {
                name: text("name").unwrap_or_else(|| place.to_owned()),
                limiter: text("limiter").unwrap_or_default(),
                policy: Fields::default(),
                steps: Vec::new(),
                note: String::new(),
                about: None,
                faults: Vec::new(),
                unreadable: Some(format!("{place}: {error}")),
            }
        })
    }

    /// What is asked, without the answers.
    pub fn case(&self) -> Case {
        Case {
            name: self.name.clone(),
            limiter: self.limiter.clone(),
            policy: self.policy.clone(),
            steps: self.steps.iter().map(|step| step.call.clone()).collect(),
        }
    }

    /// Whether the limiter is one that this suite describes.
    pub fn is_known(&self) -> bool {
        LIMITERS.contains(&self.limiter.as_str())
    }
}

impl Call {
    /// Whether it only looks, so that a limiter which cannot look is in the same state afterwards.
    pub fn only_looks(&self) -> bool {
        self.op == Op::Peek || (self.op == Op::Take && self.cost == 0)
    }

    /// The key of a layer, or of the one limiter; without a name there is one key.
    pub fn key(&self, layer: &str) -> &str {
        self.keys.get(layer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Fields {
    /// The same without its order.
    pub fn to_map(&self) -> Map<String, Value> {
        self.0.iter().cloned().collect()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

const fn one() -> u64 {
    1
}

/// Every limiter that the format names.
pub const LIMITERS: [&str; 13] = [
    "gcra",
    "token_bucket",
    "leaky_meter",
    "interval_bucket",
    "leaky_queue",
    "fixed_window",
    "sliding_log",
    "sliding_two_counters",
    "sliding_sub_windows",
    "lockout",
    "long_quota",
    "concurrency",
    "all_or_nothing",
];
