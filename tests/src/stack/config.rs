//! The demo's `fairgate.toml`, changed for one run.

use super::run_dir::workspace_root;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use toml::{Table, Value};

/// A configuration under change; tables are found by the names that the file itself uses.
#[derive(Clone, Debug)]
pub struct DemoConfig(Table);

/// Where the parts of one run listen.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub edge: SocketAddr,
    pub queue_server: SocketAddr,
    pub shop: SocketAddr,
}

impl DemoConfig {
    /// The demo as it lies in the repository.
    pub fn read() -> Result<Self> {
        let path = workspace_root().join("tests/demo/fairgate.toml");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text)
    }

    /// A configuration from the text of its file.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self(text.parse()?))
    }

    /// Adds text at the end, such as `[[policy]]` tables.
    pub fn append(&mut self, text: &str) -> Result<()> {
        *self = Self::parse(&format!("{}\n{text}", self.to_text()?))?;
        Ok(())
    }

    /// Limits every gated route of a shop by these policies, and by nothing else.
    pub fn limit_gated_routes(&mut self, shop: &str, policies: &[&str]) -> Result<()> {
        let entry = self.entries("shop")?.find(|entry| entry.get("id").and_then(Value::as_str) == Some(shop));
        let routes = entry.and_then(|entry| entry.get_mut("route")).and_then(Value::as_array_mut);
        for route in routes.context("the shop has no routes")?.iter_mut().filter_map(Value::as_table_mut) {
            if route.contains_key("sku") {
                route.insert("limits".to_owned(), policies.to_vec().into());
            }
        }
        Ok(())
    }

    /// Believes the forwarded addresses that programs on this machine send.
    pub fn trust_this_machine(&mut self) -> Result<()> {
        self.top("site", "trusted_proxies", vec!["127.0.0.0/8"])
    }

    /// Moves every part to its address.
    pub fn place(&mut self, at: Addresses) -> Result<()> {
        let port = at.edge.port();
        let site = self.table("site")?;
        site.insert("public_url".to_owned(), format!("http://localhost:{port}").into());
        self.table("edge")?.insert("queue_server".to_owned(), format!("http://{}", at.queue_server).into());
        self.table("server")?.insert("listen".to_owned(), at.queue_server.to_string().into());
        for shop in self.entries("shop")? {
            shop.insert("origin".to_owned(), format!("http://{}", at.shop).into());
            let hosts = shop.get_mut("hosts").and_then(Value::as_array_mut).context("a shop has no hosts")?;
            for host in hosts {
                let name = host.as_str().and_then(|host| host.split(':').next()).unwrap_or_default();
                *host = format!("{name}:{port}").into();
            }
        }
        Ok(())
    }

    /// Sets a key of the event with this id.
    pub fn event(&mut self, id: &str, key: &str, value: impl Into<Value>) -> Result<()> {
        self.set("event", "id", id, key, value.into())
    }

    /// Sets a key of every event.
    pub fn every_event(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        self.entries("event")?.for_each(|event| drop(event.insert(key.to_owned(), value.clone())));
        Ok(())
    }

    /// Sets a key of the policy with this name.
    pub fn policy(&mut self, name: &str, key: &str, value: impl Into<Value>) -> Result<()> {
        self.set("policy", "name", name, key, value.into())
    }

    /// Sets a key of the shop with this id.
    pub fn shop(&mut self, id: &str, key: &str, value: impl Into<Value>) -> Result<()> {
        self.set("shop", "id", id, key, value.into())
    }

    /// Sets a key of a table of the top.
    pub fn top(&mut self, table: &str, key: &str, value: impl Into<Value>) -> Result<()> {
        self.table(table)?.insert(key.to_owned(), value.into());
        Ok(())
    }

    /// An integer of the event with this id.
    pub fn event_integer(&self, id: &str, key: &str) -> Result<u64> {
        let events = self.0.get("event").and_then(Value::as_array).context("there are no events")?;
        let event = events.iter().find(|event| event.get("id").and_then(Value::as_str) == Some(id));
        let value = event.and_then(|event| event.get(key)).and_then(Value::as_integer);
        let value = value.with_context(|| format!("event {id} has no integer {key}"))?;
        Ok(u64::try_from(value)?)
    }

    /// The file's text.
    pub fn to_text(&self) -> Result<String> {
        Ok(toml::to_string(&self.0)?)
    }

    fn set(&mut self, list: &str, name_key: &str, name: &str, key: &str, value: Value) -> Result<()> {
        let entry = self
            .entries(list)?
            .find(|entry| entry.get(name_key).and_then(Value::as_str) == Some(name))
            .with_context(|| format!("no [[{list}]] has {name_key} = \"{name}\""))?;
        entry.insert(key.to_owned(), value);
        Ok(())
    }

    fn table(&mut self, key: &str) -> Result<&mut Table> {
        let table = self.0.get_mut(key).and_then(Value::as_table_mut);
        table.with_context(|| format!("there is no [{key}]"))
    }

    fn entries(&mut self, key: &str) -> Result<impl Iterator<Item = &mut Table>> {
        let list = self.0.get_mut(key).and_then(Value::as_array_mut);
        let list = list.with_context(|| format!("there is no [[{key}]]"))?;
        Ok(list.iter_mut().filter_map(Value::as_table_mut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_placed_and_changed() {
        let mut config = DemoConfig::read().unwrap();
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        config.place(Addresses { edge: at(1), queue_server: at(2), shop: at(3) }).unwrap();
        config.event("drop", "capacity", 5).unwrap();
        assert!(config.event("nothing", "capacity", 5).is_err());
        assert_eq!(config.event_integer("drop", "capacity").unwrap(), 5);

        let text = config.to_text().unwrap();
        let read: Table = text.parse().unwrap();
        assert_eq!(read["site"]["public_url"].as_str(), Some("http://localhost:1"));
        assert_eq!(read["edge"]["queue_server"].as_str(), Some("http://127.0.0.1:2"));
        assert_eq!(read["shop"][1]["hosts"][0].as_str(), Some("beta.localhost:1"));
        assert_eq!(read["shop"][0]["route"][0]["sku"]["json"].as_str(), Some("sku"));
        assert!(!text.contains("8700") && !text.contains("8701") && !text.contains("8702"), "{text}");
    }
}
