//! What somebody reads whose navigation was limited: the words of the problem as a page, in the waiting page's clothes. It does
//! not reload by itself, because that would bring everybody back at once.

use super::languages::words;
use super::words::Words;
use super::{CSS, hash_of};
use crate::http::language::Language;
use crate::http::problem::Problem;
use askama::Template;

/// A refusal for a person.
#[derive(Clone, Copy, Debug)]
pub struct RefusedPage<'a> {
    /// What refuses.
    pub problem: &'a Problem,
    /// The language of every word on the page.
    pub language: Language,
    /// Where the visitor came from, from [`return_path`](crate::http::navigation::return_path).
    pub back_path: &'a str,
    /// The id that finds this request in the logs.
    pub request_id: &'a str,
}

impl RefusedPage<'_> {
    /// The page as HTML. Every value that comes from outside is escaped.
    pub fn render(&self) -> String {
        let words = words(self.language);
        let page = Page {
            lang: self.language.tag(),
            message: self.problem.message(self.language),
            again: self.problem.retry_after_s().map(|seconds| words.again.with(seconds)),
            back_path: self.back_path,
            request_id: self.request_id,
            words,
            css: CSS,
        };
        // Writing to a `String` fails only where a filter does, and the template has none that can.
        page.render().unwrap_or_default()
    }

    /// Names in lower case and values: those of the problem, for HTML that loads nothing.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let policy = format!("default-src 'none'; style-src {}; base-uri 'none'", hash_of(CSS));
        let mut headers = self.problem.headers();
        headers.retain(|(name, _)| *name != "content-type");
        headers.extend([
            ("content-type", "text/html; charset=utf-8".to_owned()),
            ("content-security-policy", policy),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-robots-tag", "noindex".to_owned()),
        ]);
        headers
    }
}

/// The parts of `assets/refused.html`.
#[derive(Template)]
#[template(path = "refused.html")]
struct Page<'a> {
    lang: &'a str,
    message: &'a str,
    again: Option<String>,
    back_path: &'a str,
    request_id: &'a str,
    words: &'a Words,
    css: &'a str,
}
