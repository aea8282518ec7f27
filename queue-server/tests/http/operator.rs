//! What operators and shops may do, driven by their calls.

use crate::browser::{Browser, REDEEM, RENEW, Reply, Server, TICKET, fill};
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};

const EVENT: &str = "/v1/events/drop";
const ACTIONS: &str = "/v1/events/drop/actions";

async fn call(server: &Server, key: &str, method: &str, path: &str, body: &Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, "application/json");
    server.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn order(server: &Server, action: Value) -> Reply {
    call(server, &server.keys.operate, "POST", ACTIONS, &json!({ "action": action })).await
}

#[tokio::test]
async fn a_pause_holds_the_line_and_says_what_the_operator_says() {
    let mut server = Server::start().await;
    let _inside = fill(&server).await;
    let mut waiting = Browser::default();
    waiting.post(&server, TICKET).await;
    let reply = order(&server, json!("pause")).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["phase"]), (200, &json!("paused")));
    let seen = call(&server, &server.keys.read, "GET", EVENT, &Value::Null).await.json();
    assert_eq!(seen["phase"], "paused", "before the next tick");
    let strange = json!({ "message": { "en": "Back at\u{0}three." } });
    order(&server, strange).await.assert_refused(400, "BODY_INVALID");
    let words = json!({ "message": { "en": "Back at three.", "zh-TW": "三點恢復。" } });
    assert_eq!(order(&server, words).await.status, 200);
    server.call_next().await;
    server.tick().await;
    waiting.post(&server, REDEEM).await.assert_refused(503, "EVENT_PAUSED");
    let told = |language: &'static str| {
        let (server, mut browser) = (&server, waiting.clone());
        async move {
            let fields = [("accept-language", language)];
            let status = browser.send(server, "GET", TICKET, Body::empty(), &fields).await.json();
            (status["message"].clone(), status["reason"].clone())
        }
    };
    assert_eq!(told("en").await, (json!("Back at three."), json!("OPERATOR_PAUSED")));
    assert_eq!(told("zh-TW").await.0, json!("三點恢復。"));
    let log = call(&server, &server.keys.read, "GET", ACTIONS, &Value::Null).await.json();
    let causes: Vec<_> = log["log"].as_array().unwrap().iter().map(|entry| &entry["cause"]).collect();
    assert_eq!(causes, [&json!({ "operator": "operate" }); 2]);
    assert_eq!(log["log"][0]["action"], "pause");
}

#[tokio::test]
async fn an_event_closes_for_good() {
    let server = Server::start().await;
    assert_eq!(order(&server, json!("close")).await.json()["phase"], "closed");
    order(&server, json!("open")).await.assert_refused(409, "ACTION_NOT_NOW");
    Browser::default().post(&server, TICKET).await.assert_refused(410, "EVENT_CLOSED");
    let view = call(&server, &server.keys.read, "GET", EVENT, &Value::Null).await.json();
    assert_eq!(
        (&view["title"], &view["capacity"], &view["epoch"]),
        (&json!("The Alpha drop"), &json!(2), &json!(1))
    );
}

#[tokio::test]
async fn a_capacity_is_lowered_while_buyers_are_inside() {
    let mut server = Server::start().await;
    let _inside = fill(&server).await;
    let view = order(&server, json!({ "capacity": 1 })).await.json();
    assert_eq!((&view["capacity"], &view["sessions"]), (&json!(1), &json!(2)));
    order(&server, json!({ "capacity": 0 })).await.assert_refused(400, "ACTION_INVALID");
    server.tick().await;
    let view = call(&server, &server.keys.read, "GET", EVENT, &Value::Null).await.json();
    assert_eq!(view["capacity"], 1);
}

#[tokio::test]
async fn the_shop_ends_and_extends_a_session_by_the_id_of_its_pass() {
    let server = Server::start().await;
    let _inside = fill(&server).await;
    let say = |word: &'static str, jti: &'static str| {
        let server = &server;
        async move {
            let path = format!("{EVENT}/sessions/{jti}/{word}");
            call(server, &server.keys.sessions, "POST", &path, &Value::Null).await
        }
    };
    assert_eq!(say("extend", "drop:1:0:1").await.status, 204);
    assert_eq!(say("finish", "drop:1:0:1").await.status, 204);
    say("extend", "drop:1:0:1").await.assert_refused(410, "SESSION_ENDED");
    say("finish", "other:1:0:2").await.assert_refused(410, "SESSION_ENDED");
    say("finish", "rubbish").await.assert_refused(400, "PATH_INVALID");
    say("praise", "drop:1:0:2").await.assert_refused(404, "ROUTE_UNKNOWN");
    assert_eq!(say("revoke", "drop:1:0:2").await.status, 204);
}

#[tokio::test]
async fn a_staff_pass_is_signed_counts_nowhere_and_is_logged() {
    let server = Server::start().await;
    let reply = order(&server, json!("staff_pass")).await.json();
    let pass = &reply["staffPass"];
    let claims = server.app.passes.open(pass["token"].as_str().unwrap()).unwrap();
    assert_eq!((claims.aud.as_str(), reply["sessions"].as_u64()), ("alpha", Some(0)));
    assert!(pass["setCookie"].as_str().unwrap().starts_with("fg-pass-drop="));
    let log = call(&server, &server.keys.read, "GET", ACTIONS, &Value::Null).await.json();
    assert_eq!(log["log"][0]["action"], "staff_pass");
}

#[tokio::test]
async fn without_the_right_key_nothing_is_open() {
    let server = Server::start().await;
    let calls = [
        ("GET", "/v1/events", "sessions"),
        ("GET", EVENT, "sessions"),
        ("GET", ACTIONS, "sessions"),
        ("POST", ACTIONS, "read"),
        ("POST", "/v1/events/drop/sessions/drop:1:0:1/finish", "operate"),
    ];
    for (method, path, other_role) in calls {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        server.send(request).await.assert_refused(401, "ACCESS_KEY_MISSING");
        call(&server, "fgk_0_0", method, path, &Value::Null).await.assert_refused(401, "ACCESS_KEY_INVALID");
        let key = match other_role {
            "sessions" => &server.keys.sessions,
            "read" => &server.keys.read,
            _ => &server.keys.operate,
        };
        call(&server, key, method, path, &json!({ "action": "pause" }))
            .await
            .assert_refused(403, "ROLE_MISSING");
    }
    let foreign = call(&server, &server.keys.operate, "GET", "/v1/events/beta-drop", &Value::Null).await;
    foreign.assert_refused(403, "SHOP_NOT_ALLOWED");
    let own = call(&server, &server.keys.operate, "GET", "/v1/events", &Value::Null).await.json();
    let names: Vec<_> = own["events"].as_array().unwrap().iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["drop"]);
}

#[tokio::test]
async fn what_is_no_order_changes_nothing() {
    let server = Server::start().await;
    for body in [json!({}), json!({ "action": "explode" }), json!({ "action": "pause", "at": 1 }), json!([])]
    {
        call(&server, &server.keys.operate, "POST", ACTIONS, &body).await.assert_refused(400, "BODY_INVALID");
    }
    for message in [json!({}), json!({ "en": "" }), json!({ "en": "x".repeat(501) }), json!({ "fr": "oui" })]
    {
        order(&server, json!({ "message": message })).await.assert_refused(400, "BODY_INVALID");
    }
    assert_eq!(order(&server, json!({ "message": { "en": "x".repeat(500) } })).await.status, 200);
    let log = call(&server, &server.keys.read, "GET", ACTIONS, &Value::Null).await.json();
    assert_eq!(log["log"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn who_is_inside_goes_on_when_tickets_are_voided() {
    let mut server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    assert_eq!(order(&server, json!("void_tickets")).await.status, 200);
    server.tick().await;
    let renewed = inside.post(&server, RENEW).await;
    assert_eq!(renewed.status, 200, "the session is the event's, whatever became of the ticket");
    assert_eq!(
        (&renewed.json()["status"]["state"], &renewed.json()["status"]["position"]),
        (&json!("called"), &Value::Null)
    );
}
