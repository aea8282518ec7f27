//! Invitation codes, and the code with which a place moves to another device.

use crate::browser::{Browser, DEMO, REDEEM, Reply, Server, TICKET, fill};
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};

const CODES: &str = "/v1/events/drop/codes";
const MOVE: &str = "/.fairgate/events/drop/ticket/move";

async fn server() -> Server {
    let guest = "[[event.lane]]\nname = \"guest\"\nweight = 1\n";
    let lanes = format!("{guest}[[event.lane]]\nname = \"invited\"\nceiling_pct = 50\ncodes_max = 3\n");
    Server::with_config(DEMO.replacen(guest, &lanes, 1).replace("capacity = 100\n", "capacity = 2\n")).await
}

async fn ask(server: &Server, key: &str, method: &str, body: &Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(CODES)
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, "application/json");
    server.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn join(buyer: &mut Browser, server: &Server, body: &Value) -> Reply {
    let fields = [("content-type", "application/json")];
    buyer.send(server, "POST", TICKET, Body::from(body.to_string()), &fields).await
}

#[tokio::test]
async fn an_operator_issues_codes_within_the_bound_of_the_lane() {
    let server = server().await;
    let issued = ask(&server, &server.keys.operate, "POST", &json!({"lane": "invited", "count": 2})).await;
    assert_eq!(issued.status, 201);
    assert_eq!(issued.json()["codes"].as_array().unwrap().len(), 2);
    for wrong in [
        json!({"lane": "invited", "count": 2}),
        json!({"lane": "invited", "count": 1, "uses": 2}),
        json!({"lane": "invited", "count": 1, "uses": 0}),
        json!({"lane": "invited", "count": 0}),
        json!({"lane": "invited", "count": 1001}),
        json!({"lane": "guest", "count": 1}),
        json!({"lane": "other", "count": 1}),
    ] {
        ask(&server, &server.keys.operate, "POST", &wrong).await.assert_refused(400, "ACTION_INVALID");
    }
    ask(&server, &server.keys.read, "POST", &json!({"lane": "invited", "count": 1}))
        .await
        .assert_refused(403, "ROLE_MISSING");
    ask(&server, &server.keys.sessions, "GET", &Value::Null).await.assert_refused(403, "ROLE_MISSING");
    let counts = ask(&server, &server.keys.read, "GET", &Value::Null).await.json();
    let invited = json!({"lane": "invited", "codes": 2, "uses": 2, "held": 0, "spent": 0, "usesMax": 3});
    assert_eq!(counts["lanes"][1], invited);
    assert!(
        !counts.to_string().contains(issued.json()["codes"][0].as_str().unwrap()),
        "only hashes are kept"
    );
}

#[tokio::test]
async fn a_code_opens_the_lane_once_and_a_wrong_one_draws_no_number() {
    let server = server().await;
    let issued =
        ask(&server, &server.keys.operate, "POST", &json!({"lane": "invited", "count": 1})).await.json();
    let code = issued["codes"][0].as_str().unwrap();
    let [mut ada, mut bob] = [(); 2].map(|()| Browser::default());
    let _inside = fill(&server).await;
    for wrong in ["", " "] {
        assert_eq!(join(&mut Browser::default(), &server, &json!({"code": wrong})).await.status, 201, "none");
    }
    join(&mut ada, &server, &json!({"code": "0000-0000-0000-0000"}))
        .await
        .assert_refused(403, "CODE_UNKNOWN");
    join(&mut ada, &server, &json!({"code": "hello"})).await.assert_refused(403, "CODE_UNKNOWN");
    join(&mut ada, &server, &json!({"code": 7})).await.assert_refused(400, "BODY_INVALID");
    let told = join(&mut ada, &server, &json!({"code": code.to_lowercase()})).await;
    assert_eq!((&told.json()["lane"], &told.json()["ticketNumber"]), (&json!("invited"), &json!(1)));
    let again = join(&mut ada, &server, &json!({"code": code})).await;
    assert_eq!((again.status.as_u16(), &again.json()["ticketNumber"]), (200, &json!(1)));
    join(&mut bob, &server, &json!({"code": code})).await.assert_refused(403, "CODE_USED");
    // Ada gives it up, and Bob may have it, by the form of a page without script.
    ada.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    assert_eq!(bob.post_form(&server, TICKET, &format!("code={code}&return=%2F")).await.status, 303);
    assert_eq!(bob.post(&server, TICKET).await.json()["lane"], "invited");
}

#[tokio::test]
async fn a_place_moves_to_another_device_and_the_old_ticket_is_worth_nothing() {
    let mut server = server().await;
    let _inside = fill(&server).await;
    let [mut laptop, mut phone] = [(); 2].map(|()| Browser::default());
    let place = laptop.post(&server, TICKET).await.json()["ticketNumber"].clone();
    phone.post(&server, TICKET).await;
    let offer = laptop.post(&server, MOVE).await.json();
    assert_eq!(offer["expiresInS"], 600);
    join(&mut phone, &server, &json!({"move": "0000-0000-0000-0000"}))
        .await
        .assert_refused(403, "CODE_UNKNOWN");
    let moved = join(&mut phone, &server, &json!({"move": offer["code"]})).await;
    assert_eq!((moved.status.as_u16(), &moved.json()["ticketNumber"]), (200, &place));
    join(&mut Browser::default(), &server, &json!({"move": offer["code"]}))
        .await
        .assert_refused(403, "CODE_UNKNOWN");
    server.call_next().await;
    server.advance_s(125);
    server.tick().await;
    laptop.post(&server, REDEEM).await.assert_refused(410, "TICKET_MOVED");
    laptop.post(&server, MOVE).await.assert_refused(410, "TICKET_SPENT");
    assert!(phone.post(&server, REDEEM).await.json()["pass"].is_object());
    phone.post(&server, MOVE).await.assert_refused(409, "SESSION_STAYS");
    let anew = laptop.post(&server, TICKET).await.json();
    assert_ne!(anew["ticketNumber"], place);
}
