//! Which languages the page speaks.

use super::words::Words;
use super::{words_en, words_zh_tw};
use crate::http::language::Language;

/// The words of one language.
pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &words_en::WORDS,
        Language::ZhTw => &words_zh_tw::WORDS,
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::grouped;
    use super::*;

    #[test]
    fn every_language_has_every_word() {
        for language in [Language::En, Language::ZhTw] {
            let words = words(language);
            assert!(words.ahead.with(2).contains('2'), "{language:?}");
            assert!(words.keep.with(5).contains('5'), "{language:?}");
            assert!(words.again.with(5).contains('5'), "{language:?}");
            assert!(words.eta_minutes_range.contains("{low}") && words.eta_minutes_range.contains("{high}"));
            assert!(words.eta_hours_range.contains("{low}") && words.eta_hours_range.contains("{high}"));
        }
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let ahead = &words(Language::En).ahead;
        assert_eq!(ahead.with(1), "1 person ahead of you");
        assert_eq!(ahead.with(1_001), "1,001 people ahead of you");
    }

    /// The script's own tests read the words there.
    #[test]
    fn the_script_is_tested_with_the_same_words() {
        let table = serde_json::json!({ "en": words(Language::En), "zh-TW": words(Language::ZhTw) });
        let tested: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/words.json")).unwrap();
        assert_eq!(table, tested, "replace shared/tests/vectors/words.json by what is on the left");
    }
}
