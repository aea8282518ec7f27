//! Compares what a limiter answered with what is right.

use crate::reply::{Answer, CANNOT, Reply};
use crate::vector::{Op, Step, Vector};
use crate::vectors;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// What became of one vector at one target.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every wanted field was told, and is right.
    Passed,
    /// What was told is right; these fields were never, or not always, told.
    PassedInPart { untold: BTreeSet<String> },
    /// What the row is about is right, as far as it was told; something else that was told is wrong.
    WrongBeside(Mismatch),
    /// What the row is about is wrong.
    Failed(Mismatch),
    /// The limiter has no such thing: that is no failure.
    NotApplicable { reason: String },
    /// Nobody can say: a limiter, an operation or a field that is not known, or an adapter that failed.
    Unjudged { reason: String },
}

/// The first wrong answer of a vector, one that the row is about where there is such, and every field that was ever wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    pub step_index: usize,
    /// The step as the row has it.
    pub asked: String,
    pub field: String,
    pub want: Value,
    pub got: Value,
    pub wrong_fields: BTreeSet<String>,
}

/// Judges `reply` of a limiter that counts time in `resolution_us`.
pub fn judge(vector: &Vector, reply: &Reply, resolution_us: u64) -> Verdict {
    if let Some(reason) = &vector.unreadable {
        return unjudged(reason);
    }
    if !vector.is_known() {
        return unjudged(format!("no limiter `{}` is known", vector.limiter));
    }
    if let Some(field) = unknown_field(vector) {
        return unjudged(format!("no field `{field}` is known"));
    }
    match reply {
        Reply::Answers(answers) if answers.len() == vector.steps.len() => {
            judge_answers(vector, answers, resolution_us.max(1))
        }
        Reply::Answers(answers) => {
            unjudged(format!("{} answers to {} steps", answers.len(), vector.steps.len()))
        }
        Reply::Cannot(reason) => Verdict::NotApplicable { reason: reason.clone() },
        Reply::UnknownLimiter(name) => unjudged(format!("the adapter knows no limiter `{name}`")),
        Reply::Broken(reason) => unjudged(reason),
    }
}

fn judge_answers(vector: &Vector, answers: &[Answer], resolution_us: u64) -> Verdict {
    let mut untold = BTreeSet::new();
    let mut mismatches: Vec<Mismatch> = Vec::new();
    let mut has_told = false;
    for (step_index, (step, answer)) in vector.steps.iter().zip(answers).enumerate() {
        if let Some(reason) = answer.get(CANNOT) {
            if !step.call.only_looks() {
                return Verdict::NotApplicable { reason: reason.as_str().unwrap_or_default().to_owned() };
            }
            untold.insert("peek".to_owned());
            continue;
        }
        for (field, want) in &step.want {
            let Some(got) = answer.get(field) else {
                untold.insert(field.clone());
                continue;
            };
            has_told = true;
            let want = rounded_up(field, want, resolution_us);
            if *got != want {
                let (asked, field, got) = (asked(step), field.clone(), got.clone());
                mismatches.push(Mismatch {
                    step_index,
                    asked,
                    field,
                    want,
                    got,
                    wrong_fields: BTreeSet::new(),
                });
            }
        }
    }
    match worst(vector, mismatches) {
        Some(verdict) => verdict,
        None if untold.is_empty() => Verdict::Passed,
        None if has_told => Verdict::PassedInPart { untold },
        None => Verdict::NotApplicable { reason: "tells nothing that this row asks".to_owned() },
    }
}

fn worst(vector: &Vector, mismatches: Vec<Mismatch>) -> Option<Verdict> {
    let wrong_fields: BTreeSet<String> = mismatches.iter().map(|mismatch| mismatch.field.clone()).collect();
    let is_about = |mismatch: &Mismatch| vectors::is_about(vector.about.as_deref(), &mismatch.field);
    let about = mismatches.iter().position(is_about);
    let found = mismatches.into_iter().nth(about.unwrap_or(0))?;
    let found = Mismatch { wrong_fields, ..found };
    Some(if about.is_some() { Verdict::Failed(found) } else { Verdict::WrongBeside(found) })
}

/// A wait in the units of a limiter that counts in larger ones: the first of its moments at which the cost passes.
fn rounded_up(field: &str, want: &Value, resolution_us: u64) -> Value {
    match want.as_u64() {
        Some(us) if TIMES.contains(&field) => {
            Value::from(us.div_ceil(resolution_us).saturating_mul(resolution_us))
        }
        _ => want.clone(),
    }
}

fn unknown_field(vector: &Vector) -> Option<&String> {
    let is_layered = vector.limiter == "all_or_nothing";
    vector.steps.iter().find_map(|step| {
        let wanted = step.want.keys().find(|field| !FIELDS.contains(&field.as_str()));
        let names_key = |field: &str| {
            if is_layered { has_layer(vector, field) || field == "key" } else { field == "key" }
        };
        wanted.or_else(|| step.call.keys.keys().find(|field| !names_key(field)))
    })
}

fn has_layer(vector: &Vector, name: &str) -> bool {
    vector.policy.0.iter().any(|(layer, _)| layer == name)
}

fn asked(step: &Step) -> String {
    let call = &step.call;
    let cost = call.cost;
    let what = match call.op {
        Op::Take => format!("take {cost}"),
        Op::Peek => "peek".to_owned(),
        Op::Refund => format!("refund {cost}"),
        Op::Give => "give".to_owned(),
        Op::SetPolicy => "set_policy".to_owned(),
    };
    format!("{what} at {} µs", call.t_us)
}

fn unjudged(reason: impl fmt::Display) -> Verdict {
    Verdict::Unjudged { reason: reason.to_string() }
}

impl Verdict {
    /// Whether everything told was right.
    pub const fn is_right(&self) -> bool {
        matches!(self, Self::Passed | Self::PassedInPart { .. })
    }

    /// Whether the vector could be asked and judged.
    pub const fn is_asked(&self) -> bool {
        !matches!(self, Self::NotApplicable { .. } | Self::Unjudged { .. })
    }

    /// One word for tables and JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::PassedInPart { .. } => "passed_in_part",
            Self::WrongBeside(_) => "wrong_beside",
            Self::Failed(_) => "failed",
            Self::NotApplicable { .. } => "not_applicable",
            Self::Unjudged { .. } => "unjudged",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::PassedInPart { untold } => {
                let untold: Vec<&str> = untold.iter().map(String::as_str).collect();
                write!(f, "passed; not told: {}", untold.join(", "))
            }
            Self::WrongBeside(mismatch) | Self::Failed(mismatch) => mismatch.fmt(f),
            Self::NotApplicable { reason } => write!(f, "not applicable: {reason}"),
            Self::Unjudged { reason } => write!(f, "unjudged: {reason}"),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step_index, asked, field, want, got, wrong_fields } = self;
        write!(f, "step {}, {asked}: {field} is {got}, right is {want}", step_index + 1)?;
        let others: Vec<&str> =
            wrong_fields.iter().map(String::as_str).filter(|other| other != field).collect();
        if others.is_empty() { Ok(()) } else { write!(f, "; also wrong: {}", others.join(", ")) }
    }
}

/// Every field that a row may want.
pub const FIELDS: [&str; 8] = [
    "ok",
    "remaining",
    "retry_after_us",
    "retry_after_s",
    "reset_after_us",
    "delay_us",
    "locked",
    "bound_by",
];

const TIMES: [&str; 3] = ["retry_after_us", "reset_after_us", "delay_us"];
