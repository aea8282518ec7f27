//! Typed reading of one TOML table: every value once, and what nobody asked for is refused.

use super::error::{ConfigError, ConfigErrors};
use crate::limiter::calendar::day_of;
use crate::time::Timestamp;
use core::cell::RefCell;
use core::fmt::Display;
use core::ops::RangeInclusive;
use core::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::value::{Datetime, Offset};

/// Collects what is wrong, so that one run tells all of it.
pub(super) struct Report<'d> {
    file_name: &'d str,
    text: &'d str,
    errors: RefCell<Vec<ConfigError>>,
}

impl<'d> Report<'d> {
    pub(super) fn new(file_name: &'d str, text: &'d str) -> Self {
        Self { file_name, text, errors: RefCell::default() }
    }

    /// Notes an error at a byte of the text; past [`ERRORS_MAX`] nothing more is noted.
    pub(super) fn add(&self, offset: usize, key: impl Into<String>, message: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < ERRORS_MAX {
            let (file, line) = (self.file_name.to_owned(), self.line_of(offset));
            errors.push(ConfigError { line, file, key: key.into(), message: message.into() });
        }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count().saturating_add(1)
    }

    /// Everything noted, in the order of the lines.
    pub(super) fn into_errors(self) -> ConfigErrors {
        let mut errors = self.errors.into_inner();
        errors.sort_unstable();
        ConfigErrors(errors)
    }
}

/// One table. A table that is missing reads as an empty one.
pub(super) struct Section<'d> {
    report: &'d Report<'d>,
    path: String,
    offset: usize,
    table: Option<&'d DeTable<'d>>,
    known: Vec<&'static str>,
}

impl<'d> Section<'d> {
    pub(super) fn root(report: &'d Report<'d>, table: &'d DeTable<'d>) -> Self {
        Self { report, path: String::new(), offset: 0, table: Some(table), known: Vec::new() }
    }

    /// The first of these keys that the table has.
    pub(super) fn first_of<const N: usize>(&self, keys: [&'static str; N]) -> Option<&'static str> {
        keys.into_iter().find(|key| self.table.is_some_and(|table| table.contains_key(*key)))
    }

    /// The value of a key, if it is there.
    pub(super) fn optional(&mut self, key: &'static str) -> Option<Value<'d>> {
        self.known.push(key);
        let spanned = self.table?.get(key)?;
        Some(Value { report: self.report, path: self.path_of(key), spanned })
    }

    /// The value of a key that must be there; `example` shows what to write.
    pub(super) fn required(&mut self, key: &'static str, example: &str) -> Option<Value<'d>> {
        let value = self.optional(key);
        if value.is_none() {
            self.report.add(self.offset, self.path_of(key), format!("missing; write {key} = {example}"));
        }
        value
    }

    /// A number that must be there. The start of the range stands in for one that cannot be read.
    pub(super) fn number(&mut self, key: &'static str, range: RangeInclusive<u32>) -> u32 {
        let least = *range.start();
        let value = self.required(key, &format!("<number from {} to {}>", range.start(), range.end()));
        value.and_then(|value| value.number(range)).unwrap_or(least)
    }

    /// A number, or `default` where it is missing.
    pub(super) fn number_or(&mut self, key: &'static str, range: RangeInclusive<u32>, default: u32) -> u32 {
        self.optional(key).and_then(|value| value.number(range)).unwrap_or(default)
    }

    /// A span in whole seconds, or `default_s` where it is missing.
    pub(super) fn seconds_or(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u32>,
        default_s: u32,
    ) -> Duration {
        Duration::from_secs(self.number_or(key, range, default_s).into())
    }

    /// A span that must be there, under one of two keys: in milliseconds or in seconds.
    pub(super) fn span(&mut self, ms: &'static str, s: &'static str, ms_max: u32) -> Option<Duration> {
        let given = (self.optional(ms), self.optional(s));
        if matches!(given, (None, None)) {
            self.report.add(self.offset, self.path_of(s), format!("missing; write {s} or {ms} = <number>"));
        }
        read_span(1, given, ms_max)
    }

    /// A span as [`span`](Self::span) reads it; zero where both keys are missing.
    pub(super) fn span_or_zero(
        &mut self,
        ms: &'static str,
        s: &'static str,
        ms_max: u32,
    ) -> Option<Duration> {
        match (self.optional(ms), self.optional(s)) {
            (None, None) => Some(Duration::ZERO),
            given => read_span(0, given, ms_max),
        }
    }

    /// Texts of an array, each with its place; none where the key is missing.
    pub(super) fn list(&mut self, key: &'static str, count_max: usize) -> Vec<Value<'d>> {
        self.optional(key).map(|value| value.list(count_max)).unwrap_or_default()
    }

    /// The table of a key; an empty one where it is missing.
    pub(super) fn table(&mut self, key: &'static str) -> Self {
        let table = self.optional(key).and_then(|value| value.table());
        let (report, offset) = (self.report, self.offset);
        table.unwrap_or_else(|| Self {
            report,
            path: self.path_of(key),
            offset,
            table: None,
            known: Vec::new(),
        })
    }

    /// The tables `[[key]]`, in the order of the file.
    pub(super) fn tables(&mut self, key: &'static str, count_max: usize) -> Vec<Self> {
        self.list(key, count_max).into_iter().filter_map(|value| value.table()).collect()
    }

    /// Every value in this table and in the tables within, each with its dotted name from here. The names are free, so
    /// none is unknown.
    pub(super) fn leaves(self, count_max: usize) -> Vec<(String, Value<'d>)> {
        let mut leaves = Vec::new();
        let mut rest = vec![(String::new(), self.path.clone(), self.table)];
        while let Some((name, path, table)) = rest.pop() {
            for (key, spanned) in table.into_iter().flatten() {
                let join = |prefix: &str| {
                    let key: &str = key.get_ref();
                    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
                };
                let (name, path) = (join(&name), join(&path));
                match spanned.get_ref().as_table() {
                    Some(inner) => rest.push((name, path, Some(inner))),
                    None => leaves.push((name, Value { report: self.report, path, spanned })),
                }
            }
        }
        if leaves.len() > count_max {
            self.error(format!("write at most {count_max}; got {}", leaves.len()));
        }
        leaves
    }

    /// Notes an error of the table as a whole.
    pub(super) fn error(&self, message: impl Into<String>) {
        self.report.add(self.offset, self.path.clone(), message);
    }

    /// Refuses keys that nobody asked for: a misspelt limit must not be an absent one.
    pub(super) fn finish(self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let message = format!("unknown key; known here are {}", self.known.join(", "));
                self.report.add(key.span().start, self.path_of(name), message);
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// One value with its place in the file. Reading it as something that it is not notes an error and gives `None`.
#[derive(Clone)]
pub(super) struct Value<'d> {
    report: &'d Report<'d>,
    path: String,
    spanned: &'d Spanned<DeValue<'d>>,
}

impl<'d> Value<'d> {
    pub(super) fn error(&self, message: impl Into<String>) {
        self.report.add(self.offset(), self.path.clone(), message);
    }

    /// Byte of the text where the value begins.
    pub(super) fn offset(&self) -> usize {
        self.spanned.span().start
    }

    /// Line of any byte of the text, from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.report.line_of(offset)
    }

    pub(super) fn text(&self) -> Option<&'d str> {
        let text = self.spanned.get_ref().as_str();
        self.noted(text, "a text in double quotes")
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.noted(self.spanned.get_ref().as_bool(), "true or false")
    }

    /// The text as `parse` reads it.
    pub(super) fn parsed<T, E: Display>(&self, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        let text = self.text()?;
        parse(text).map_err(|error| self.error(format!("{error}; got {text:?}"))).ok()
    }

    /// A date and time with its offset from UTC, not before 1970; fractions of a second are cut off.
    pub(super) fn moment(&self) -> Option<Timestamp> {
        let text = self.noted(self.spanned.get_ref().as_datetime(), MOMENT)?;
        let moment = moment(text);
        if moment.is_none() {
            self.error(format!("write {MOMENT}; got {text}"));
        }
        moment
    }

    /// A whole number in a range.
    pub(super) fn number(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let integer = self.noted(self.spanned.get_ref().as_integer(), &wanted)?;
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.error(format!("write {wanted}; got {integer}"));
        }
        number
    }

    pub(super) fn is_list(&self) -> bool {
        self.spanned.get_ref().as_array().is_some()
    }

    pub(super) fn list(&self, count_max: usize) -> Vec<Value<'d>> {
        let array = self.noted(self.spanned.get_ref().as_array(), "an array");
        let values = array.into_iter().flatten();
        let values: Vec<_> = values
            .enumerate()
            .map(|(index, spanned)| Value {
                report: self.report,
                path: format!("{}[{index}]", self.path),
                spanned,
            })
            .collect();
        if values.len() > count_max {
            self.error(format!("write at most {count_max}; got {}", values.len()));
        }
        values
    }

    pub(super) fn table(&self) -> Option<Section<'d>> {
        let table = self.noted(self.spanned.get_ref().as_table(), "a table")?;
        let (report, path, offset) = (self.report, self.path.clone(), self.spanned.span().start);
        Some(Section { report, path, offset, table: Some(table), known: Vec::new() })
    }

    fn noted<T>(&self, read: Option<T>, wanted: &str) -> Option<T> {
        if read.is_none() {
            self.error(format!("write {wanted}; got {}", self.spanned.get_ref().type_str()));
        }
        read
    }
}

/// `None` without a date, a time and an offset, or before 1970.
fn moment(text: &Datetime) -> Option<Timestamp> {
    let (date, time) = (text.date?, text.time?);
    let offset_minutes = match text.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let day = day_of(date.year.into(), date.month.into(), date.day.into());
    let minutes = i64::from(time.hour).saturating_mul(60).saturating_add(time.minute.into());
    let seconds = day
        .saturating_mul(86_400)
        .saturating_add(minutes.saturating_sub(offset_minutes).saturating_mul(60))
        .saturating_add(time.second.unwrap_or(0).into());
    Some(Timestamp::from_millis(u64::try_from(seconds).ok()?.saturating_mul(1000)))
}

const MOMENT: &str = "a date and time with its offset, such as 2026-12-01T12:00:00+08:00";

/// The span that is given in milliseconds or in seconds, at least `least` of them; `None` where an error was noted.
fn read_span(least: u32, given: (Option<Value<'_>>, Option<Value<'_>>), ms_max: u32) -> Option<Duration> {
    match given {
        (Some(millis), None) => Some(Duration::from_millis(millis.number(least..=ms_max)?.into())),
        (None, Some(seconds)) => Some(Duration::from_secs(seconds.number(least..=ms_max / 1000)?.into())),
        (Some(_), Some(seconds)) => {
            seconds.error("write the span once, in seconds or in milliseconds");
            None
        }
        (None, None) => None,
    }
}

/// Errors beyond this are not told.
pub(super) const ERRORS_MAX: usize = 100;
