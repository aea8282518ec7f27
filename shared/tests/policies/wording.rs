//! A policy's own words for whoever it refuses.

use crate::fixtures::{config, errors, policy};
use shared::config::PolicyWords;
use shared::http::language::Language;
use shared::http::problem::Problem;
use shared::http::reason::Reason;

const ONE_A_SECOND: &str = "at_most = 1\nwindow_s = 1";

#[test]
fn a_policy_speaks_with_its_own_words_and_else_with_those_of_the_reason() {
    let own = policy(&format!("{ONE_A_SECOND}\nmessage_zh_tw = \"請先登入會員\"")).words;
    let told = |words: &PolicyWords, language| {
        let problem = Problem::new(Reason::RateLimited).words(words).language(language);
        assert!(problem.body().contains(&format!(r#""message":"{}""#, problem.message(language))));
        problem.message(language).to_owned()
    };
    assert_eq!(told(&own, Language::ZhTw), "請先登入會員");
    assert_eq!(told(&own, Language::En), Reason::RateLimited.message(Language::En));
    assert_eq!(told(&PolicyWords::NONE, Language::ZhTw), Reason::RateLimited.message(Language::ZhTw));
}

#[test]
fn an_action_has_words_and_a_shops_numbers_keep_them() {
    let action = "[actions]\nShoppingCart.CartsCreate.MemberId = \"true|3|1|30\"\n\
        ShoppingCart.CartsCreate.message_en = \"Slow down, please.\"\n";
    let route = "[[shop.route]]\npath = \"/cart\"\naction = \"ShoppingCart.CartsCreate\"\n";
    for of_shop in ["", "[shop.actions]\nShoppingCart = \"CartsCreate.MemberId=true|5|1|30\"\n"] {
        let config = config(&format!("{of_shop}{route}{action}"));
        let policy = &config.shops[0].routes[0].limits[0].policies[0];
        assert_eq!(policy.words.in_language(Language::En), Some("Slow down, please."), "{of_shop}");
        assert_eq!(policy.words.in_language(Language::ZhTw), None);
    }
}

#[test]
fn words_are_short_and_on_one_line() {
    for words in ["\"\"", "\"a\\nb\"", &format!("\"{}\"", "長".repeat(201)), "5"] {
        let text = format!("[[policy]]\nname = \"p\"\nkey = \"ip\"\n{ONE_A_SECOND}\nmessage_en = {words}\n");
        assert_eq!(errors(&text).len(), 1, "{words}");
    }
    policy(&format!("{ONE_A_SECOND}\nmessage_en = \"{}\"", "長".repeat(200)));
}
