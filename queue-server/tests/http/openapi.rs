//! The description of the calls, held against the calls.

use crate::browser::Server;
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

async fn document(server: &Server) -> Value {
    let request = Request::builder().uri("/openapi.json").body(Body::empty()).unwrap();
    server.send(request).await.json()
}

#[tokio::test]
async fn every_call_that_is_described_is_there() {
    let server = Server::start().await;
    let document = document(&server).await;
    let mut checked = 0;
    for (path, calls) in document["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            let uri =
                path.replace("{event}", "drop").replace("{jti}", "drop:1:0:1").replace("{word}", "finish");
            let request = Request::builder()
                .method(method.to_uppercase().as_str())
                .uri(uri.replace("{shop}", "alpha").replace("{policy}", "device"))
                .header(header::CONTENT_TYPE, "application/json");
            let reply = server.send(request.body(Body::from("{}")).unwrap()).await;
            let code = if reply.status.is_success() { Value::Null } else { reply.json()["code"].clone() };
            assert!(
                !["ROUTE_UNKNOWN", "METHOD_NOT_ALLOWED"].contains(&code.as_str().unwrap_or("")),
                "{method} {path}"
            );
            let described = &calls[method]["responses"];
            let is_told = !described[reply.status.as_str()].is_null() || !described["default"].is_null();
            assert!(is_told, "{method} {path} answers {}", reply.status);
            checked += 1;
        }
    }
    assert!(checked >= 30, "{checked}");
}

#[tokio::test]
async fn every_route_in_the_source_is_described() {
    let described = document(&Server::start().await).await;
    let described = described["paths"].as_object().unwrap();
    let mut routes = BTreeSet::new();
    collect_routes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http"), &mut routes);
    assert!(routes.len() >= 20, "{routes:?}");
    for route in routes {
        assert!(described.contains_key(&route), "{route} is not described");
    }
    for call in [
        "events/{event}",
        "events/{event}/ticket",
        "events/{event}/ticket/redeem",
        "events/{event}/ticket/move",
        "jwks.json",
    ] {
        assert!(described.contains_key(&format!("/.fairgate/{call}")), "{call}");
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    let document = document(&Server::start().await).await;
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        assert!(document.pointer(&reference).is_some(), "{reference}");
    }
}

fn collect_routes(path: &Path, routes: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect_routes(&entry.unwrap().path(), routes);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let source = fs::read_to_string(path).unwrap();
        let named = source.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next());
        routes.extend(named.map(str::to_owned));
    }
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            let own = object.get("$ref").and_then(Value::as_str);
            references.extend(own.and_then(|own| own.strip_prefix('#')).map(str::to_owned));
            object.values().for_each(|value| collect_references(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, references)),
        _ => {}
    }
}
