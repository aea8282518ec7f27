//! What a buyer reads when a policy refuses, where the operator has words of their own.

use crate::config::section::{Section, Value};
use crate::http::language::Language;

/// A policy's own words by language; a language without any has those of the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyWords {
    en: Option<String>,
    zh_tw: Option<String>,
}

impl PolicyWords {
    /// No words of its own.
    pub const NONE: Self = Self { en: None, zh_tw: None };

    /// What the policy says in a language.
    pub fn in_language(&self, language: Language) -> Option<&str> {
        match language {
            Language::En => self.en.as_deref(),
            Language::ZhTw => self.zh_tw.as_deref(),
        }
    }

    pub(in crate::config) fn read(section: &mut Section<'_>) -> Self {
        let mut words = Self::default();
        for key in [MESSAGE_EN, MESSAGE_ZH_TW] {
            if let Some(value) = section.optional(key) {
                words.put(key, &value);
            }
        }
        words
    }

    /// Takes the words of `key`; whether it is one of a language.
    pub(in crate::config) fn put(&mut self, key: &str, value: &Value<'_>) -> bool {
        let words = match key {
            MESSAGE_EN => &mut self.en,
            MESSAGE_ZH_TW => &mut self.zh_tw,
            _ => return false,
        };
        *words = value.parsed(parse);
        true
    }
}

fn parse(text: &str) -> Result<String, &'static str> {
    let is_short = (1..=CHARACTERS_MAX).contains(&text.chars().count());
    if is_short && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("write 1 to 200 characters on one line")
    }
}

const MESSAGE_EN: &str = "message_en";
const MESSAGE_ZH_TW: &str = "message_zh_tw";
const CHARACTERS_MAX: usize = 200;
