//! What the shop has accepted: stock, carts and the log, under one lock, so that the log's order is the order of acceptance.

use super::catalog::{Product, SHOPS, ShopFront};
use super::pass::Session;
use super::refusal::Refusal;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// One accepted add-to-cart, or one line of a cart that was bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// When, in milliseconds since 1970.
    pub t_ms: u64,
    pub shop: String,
    /// Session whose pass admitted it: `event:epoch:lane:number`; `None` for a product without an event.
    pub jti: Option<String>,
    /// When that pass runs out, in seconds since 1970.
    pub exp_s: Option<u64>,
    pub sku: String,
    pub quantity: u32,
    pub kind: Kind,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Add,
    Finish,
}

/// Stock, carts and log of both shops.
#[derive(Debug)]
pub(super) struct Ledger {
    stock: BTreeMap<&'static str, u64>,
    carts: BTreeMap<Uuid, Vec<LogEntry>>,
    log: Vec<LogEntry>,
    file: Option<File>,
}

impl Ledger {
    pub(super) fn new(stock: u64, log_file: Option<&Path>) -> anyhow::Result<Self> {
        let file = log_file
            .map(|path| {
                let options = File::options().create(true).append(true).open(path);
                options.with_context(|| format!("cannot append to {}", path.display()))
            })
            .transpose()?;
        let products = SHOPS.iter().flat_map(|shop| shop.products);
        let stock = products.map(|product| (product.sku, stock)).collect();
        Ok(Self { stock, carts: BTreeMap::new(), log: Vec::new(), file })
    }

    pub(super) fn log(&self) -> &[LogEntry] {
        &self.log
    }

    pub(super) fn left(&self, sku: &str) -> u64 {
        self.stock.get(sku).copied().unwrap_or(0)
    }

    /// Sets the units left of a product; false where nobody sells it.
    pub(super) fn restock(&mut self, sku: &str, units: u64) -> bool {
        self.stock.get_mut(sku).map(|left| *left = units).is_some()
    }

    pub(super) fn cart(&self, cart: Uuid) -> &[LogEntry] {
        self.carts.get(&cart).map_or(&[], Vec::as_slice)
    }

    /// Takes the units out of the stock and puts them into the cart.
    pub(super) fn add(
        &mut self,
        cart: Uuid,
        shop: &ShopFront,
        product: &Product,
        quantity: u32,
        session: Option<&Session>,
    ) -> Result<(), Refusal> {
        let full = self.cart(cart).len() >= CART_LINES_MAX;
        if full || (self.carts.len() >= CARTS_MAX && !self.carts.contains_key(&cart)) {
            return Err(Refusal::rejected("the cart is full"));
        }
        let left = self.stock.get_mut(product.sku).ok_or(Refusal::OutOfStock)?;
        *left = left.checked_sub(u64::from(quantity)).ok_or(Refusal::OutOfStock)?;
        let entry = LogEntry {
            t_ms: now_ms(),
            shop: shop.id.to_owned(),
            jti: session.map(|session| session.jti.clone()),
            exp_s: session.map(|session| session.exp_s),
            sku: product.sku.to_owned(),
            quantity,
            kind: Kind::Add,
        };
        self.carts.entry(cart).or_default().push(entry.clone());
        self.append(entry);
        Ok(())
    }

    /// Buys what is in the cart and empties it; the number of lines bought.
    pub(super) fn check_out(&mut self, cart: Uuid) -> Result<usize, Refusal> {
        let lines = self.carts.remove(&cart).unwrap_or_default();
        if lines.is_empty() {
            return Err(Refusal::rejected("the cart is empty"));
        }
        let count = lines.len();
        for line in lines {
            self.append(LogEntry { t_ms: now_ms(), kind: Kind::Finish, ..line });
        }
        Ok(count)
    }

    fn append(&mut self, entry: LogEntry) {
        if let Some(file) = &mut self.file {
            let line = serde_json::to_string(&entry).unwrap_or_default();
            if let Err(error) = writeln!(file, "{line}") {
                eprintln!("the shop's log file cannot be written: {error}");
            }
        }
        self.log.push(entry);
    }
}

pub(super) fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

const CARTS_MAX: usize = 200_000;
const CART_LINES_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(stock: u64) -> Ledger {
        Ledger::new(stock, None).unwrap()
    }

    #[test]
    fn the_last_unit_is_sold_once() {
        let mut ledger = ledger(2);
        let (cart, product) = (Uuid::from_u128(1), &SHOPS[0].products[2]);
        assert!(ledger.add(cart, &SHOPS[0], product, 3, None).is_err());
        assert!(ledger.add(cart, &SHOPS[0], product, 2, None).is_ok());
        assert!(matches!(ledger.add(cart, &SHOPS[0], product, 1, None), Err(Refusal::OutOfStock)));
        assert_eq!(ledger.left("A-3"), 0);
        assert_eq!(ledger.log().len(), 1);
    }

    #[test]
    fn a_cart_is_bought_once() {
        let mut ledger = ledger(9);
        let cart = Uuid::from_u128(1);
        let session = Session { jti: "drop:1:0:7".to_owned(), exp_s: 10 };
        ledger.add(cart, &SHOPS[0], &SHOPS[0].products[0], 1, Some(&session)).unwrap();
        assert_eq!(ledger.check_out(cart).unwrap(), 1);
        assert!(ledger.check_out(cart).is_err());
        let kinds: Vec<_> = ledger.log().iter().map(|e| (e.kind, e.jti.as_deref())).collect();
        assert_eq!(kinds, [(Kind::Add, Some("drop:1:0:7")), (Kind::Finish, Some("drop:1:0:7"))]);
    }

    #[test]
    fn a_cart_holds_a_bounded_number_of_lines() {
        let mut ledger = ledger(1_000);
        let (cart, product) = (Uuid::from_u128(1), &SHOPS[0].products[2]);
        for _ in 0..CART_LINES_MAX {
            ledger.add(cart, &SHOPS[0], product, 1, None).unwrap();
        }
        assert!(ledger.add(cart, &SHOPS[0], product, 1, None).is_err());
        assert!(ledger.add(Uuid::from_u128(2), &SHOPS[0], product, 1, None).is_ok());
    }
}
