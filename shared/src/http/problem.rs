//! Refusals as RFC 9457 problem JSON. Writing one cannot fail.

use super::language::Language;
use super::reason::Reason;
use crate::config::PolicyWords;
use core::time::Duration;
use serde_json::Value;

/// A refusal on its way to the client.
///
/// ```
/// use shared::http::problem::Problem;
/// use shared::http::reason::Reason;
/// use std::time::Duration;
/// let problem = Problem::new(Reason::RateLimited).retry_after(Duration::from_millis(1400)).policy("device");
/// assert_eq!(problem.status(), 429);
/// assert!(problem.headers().contains(&("retry-after", "2".to_owned())));
/// assert!(problem.body().contains(r#""retryAfterSeconds":2,"retryAfterMs":1400,"policy":"device""#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    reason: Reason,
    language: Language,
    retry_after: Duration,
    allow: Option<&'static str>,
    policy: Option<String>,
    violated_policies: Vec<String>,
    wait_url: Option<String>,
    request_id: Option<String>,
    detail: Option<String>,
    words: Option<Box<PolicyWords>>,
}

impl Problem {
    /// A refusal in English for `reason`. A reason that refuses nothing (`CART_ACCEPTED`) becomes `INTERNAL`, because a
    /// problem must never look like success.
    pub fn new(reason: Reason) -> Self {
        Self {
            reason: if reason.status() < 400 { Reason::Internal } else { reason },
            language: Language::default(),
            retry_after: Duration::ZERO,
            allow: None,
            policy: None,
            violated_policies: Vec::new(),
            wait_url: None,
            request_id: None,
            detail: None,
            words: None,
        }
    }

    /// The language of the message.
    #[must_use]
    pub fn language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// When to try again. It is told in whole milliseconds and seconds, rounded up, at least one second; a reason for
    /// which trying again does not help ignores it.
    #[must_use]
    pub fn retry_after(self, retry_after: Duration) -> Self {
        Self { retry_after, ..self }
    }

    /// The policy whose quota is used up.
    #[must_use]
    pub fn policy(self, name: impl Into<String>) -> Self {
        Self { policy: Some(name.into()), ..self }
    }

    /// The policy's own words, in place of the reason's.
    #[must_use]
    pub fn words(self, words: &PolicyWords) -> Self {
        Self { words: (*words != PolicyWords::NONE).then(|| Box::new(words.clone())), ..self }
    }

    /// Every policy that refused, as the draft's problem types name them in `violated-policies`; absent where it is empty.
    #[must_use]
    pub fn violated_policies(self, names: Vec<String>) -> Self {
        Self { violated_policies: names, ..self }
    }

    /// Where the buyer can wait.
    #[must_use]
    pub fn wait_url(self, url: impl Into<String>) -> Self {
        Self { wait_url: Some(url.into()), ..self }
    }

    /// The id that finds this request in the logs.
    #[must_use]
    pub fn request_id(self, id: impl Into<String>) -> Self {
        Self { request_id: Some(id.into()), ..self }
    }

    /// What exactly is wrong with this request, in English, for the engineer who sent it.
    #[must_use]
    pub fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// The methods that a path has, for `METHOD_NOT_ALLOWED`.
    #[must_use]
    pub fn allow(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    /// What a buyer is told in a language.
    pub fn message(&self, language: Language) -> &str {
        let own = self.words.as_ref().and_then(|words| words.in_language(language));
        own.unwrap_or_else(|| self.reason.message(language))
    }

    /// The reason it tells.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// HTTP status, from 400.
    pub fn status(&self) -> u16 {
        self.reason.status()
    }

    /// Names in lower case and values. A refusal is never cacheable.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/problem+json".to_owned()),
            ("cache-control", "private, no-store".to_owned()),
            ("content-language", self.language.tag().to_owned()),
        ];
        if let Some(retry_after_s) = self.retry_after_s() {
            headers.push(("retry-after", retry_after_s.to_string()));
        }
        if let Some(methods) = self.allow {
            headers.push(("allow", methods.to_owned()));
        }
        if self.status() == 401 {
            // RFC 9110 section 11.6.1: a 401 names a way to authenticate.
            let scheme = match self.reason {
                Reason::EdgeSignatureInvalid => "Fairgate-Edge",
                Reason::AccessKeyMissing | Reason::AccessKeyInvalid => "Bearer",
                _ => "Ticket",
            };
            headers.push(("www-authenticate", scheme.to_owned()));
        }
        headers
    }

    /// The JSON object, its fields in the order of the protocol.
    pub fn body(&self) -> String {
        let fields: [(&str, Value); 10] = [
            ("type", self.reason.problem_type().into()),
            ("title", self.reason.title().into()),
            ("status", self.status().into()),
            ("code", self.reason.code().into()),
            ("message", self.message(self.language).into()),
            ("retryAfterSeconds", self.retry_after_s().into()),
            ("retryAfterMs", self.retry_after_ms().into()),
            ("policy", self.policy.clone().into()),
            ("waitUrl", self.wait_url.clone().into()),
            ("requestId", self.request_id.clone().into()),
        ];
        let detail = self.detail.clone().map(|detail| ("detail", Value::from(detail)));
        let violated = Some(&self.violated_policies).filter(|names| !names.is_empty());
        let violated = violated.map(|names| ("violated-policies", Value::from(names.as_slice())));
        let fields = fields
            .into_iter()
            .chain(violated)
            .chain(detail)
            .map(|(name, value)| format!("\"{name}\":{value}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    fn retry_after_ms(&self) -> Option<u64> {
        let millis = self.retry_after.as_nanos().div_ceil(1_000_000);
        self.reason.is_retryable().then(|| u64::try_from(millis).unwrap_or(u64::MAX).max(1))
    }

    /// When to try again, in whole seconds; `None` where that does not help.
    pub fn retry_after_s(&self) -> Option<u64> {
        Some(self.retry_after_ms()?.div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_the_one_of_the_protocol() {
        let problem = Problem::new(Reason::RateLimited)
            .retry_after(Duration::from_nanos(1_399_000_001))
            .policy("device")
            .request_id("r-\"1\"");
        let expected = r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too many requests","status":429,"code":"RATE_LIMITED","message":"You are going a little too fast. Wait a moment, then try again.","retryAfterSeconds":2,"retryAfterMs":1400,"policy":"device","waitUrl":null,"requestId":"r-\"1\""}"#;
        assert_eq!(problem.body(), expected);
        let names = vec!["device".to_owned(), "ip".to_owned()];
        let body: Value = serde_json::from_str(&problem.violated_policies(names).body()).unwrap();
        assert_eq!(body["violated-policies"], serde_json::json!(["device", "ip"]));
    }

    #[test]
    fn every_reason_writes_json_that_never_looks_like_success() {
        for reason in Reason::ALL {
            for language in [Language::En, Language::ZhTw] {
                let problem = Problem::new(*reason).language(language).wait_url("/.fairgate/wait/\u{1}");
                let body: Value = serde_json::from_str(&problem.body()).unwrap();
                assert_eq!(body["status"], problem.status());
                assert!(problem.status() >= 400, "{reason}");
                assert_eq!(body["message"], problem.reason().message(language));
            }
        }
    }

    #[test]
    fn retry_after_rounds_up_and_is_at_least_one_second() {
        let seconds = |reason, nanos| {
            let problem = Problem::new(reason).retry_after(Duration::from_nanos(nanos));
            problem.headers().into_iter().find(|(name, _)| *name == "retry-after").map(|(_, value)| value)
        };
        assert_eq!(seconds(Reason::DoorFull, 0).as_deref(), Some("1"));
        assert_eq!(seconds(Reason::DoorFull, 1_000_000_000).as_deref(), Some("1"));
        assert_eq!(seconds(Reason::DoorFull, 1_000_000_001).as_deref(), Some("2"));
        assert_eq!(seconds(Reason::TicketSpent, 1_000_000_000), None);
        let forever = Problem::new(Reason::DoorFull).retry_after(Duration::MAX);
        assert!(forever.body().contains(&format!("\"retryAfterMs\":{}", u64::MAX)));
    }

    #[test]
    fn headers_follow_the_status() {
        let has = |problem: &Problem, name| problem.headers().iter().any(|(header, _)| *header == name);
        assert!(has(&Problem::new(Reason::NoTicket), "www-authenticate"));
        let wrong_method = Problem::new(Reason::MethodNotAllowed).allow("GET, HEAD");
        assert!(wrong_method.headers().contains(&("allow", "GET, HEAD".to_owned())));
        assert!(!has(&wrong_method, "www-authenticate"));
    }
}
