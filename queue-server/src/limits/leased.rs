//! Quota of shared keys that this server holds ahead of use, so that most checks of a hot one do not go to the store.

use super::store::{BUDGET, LimitStore, Timed};
use crate::clock::Clock;
use shared::{
    gate::Limit,
    limiter::{
        Cost, Decision,
        check::{Charge, CheckRequest},
        home::REFUNDS_MAX,
        lease::{Grant, LeaseBook, Refund, TakenFromLeases, grant_cost},
    },
    time::Timestamp,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::timeout;

/// Leases of keys in one store; clones share them.
#[derive(Clone)]
pub(super) struct Leases {
    store: Arc<dyn LimitStore>,
    clock: Clock,
    /// By shop, of which there are as many as are configured.
    books: Arc<Mutex<BTreeMap<String, LeaseBook>>>,
}

/// What a lease is renewed with.
struct Renewal {
    shop: String,
    /// Each with what is wanted of it: nothing where that is 0.
    wanted: Vec<(Charge, Cost)>,
    returns: Vec<Refund>,
    began: Timestamp,
}

/// Whether leases may answer for all of these limits.
pub(super) fn may_lease(limits: &[Limit<'_>]) -> bool {
    limits.iter().all(|limit| limit.lease && limit.is_enforced())
}

impl Leases {
    pub(super) fn new(store: Arc<dyn LimitStore>, clock: Clock) -> Self {
        Self { store, clock, books: Arc::default() }
    }

    /// Takes every charge from leases, or nothing: then the store decides.
    pub(super) fn take(&self, shop: &str, charges: &[Charge]) -> Option<TakenFromLeases> {
        let now = self.clock.now();
        self.with_book(shop, |book| {
            book.note(charges, now);
            book.take(charges, now)
        })
    }

    /// The store has decided, and is asked for more where more will be needed; nobody waits for that.
    pub(super) fn renew(&self, shop: &str, charges: &[Charge], decisions: &[Decision]) {
        let began = self.clock.now();
        let (wanted, returns) =
            self.with_book(shop, |book| (book.wanted(charges, began), book.returns(began, REFUNDS_MAX)));
        let grants = charges.iter().zip(decisions).zip(wanted).filter(|(_, wanted)| *wanted > 0);
        let wanted = grants.map(|((charge, decision), wanted)| {
            let cost = if decision.is_allowed() { grant_cost(decision.remaining(), wanted) } else { 0 };
            (*charge, cost)
        });
        let renewal = Renewal { shop: shop.to_owned(), wanted: wanted.collect(), returns, began };
        if !renewal.wanted.is_empty() || !renewal.returns.is_empty() {
            tokio::spawn(self.clone().fetch(renewal));
        }
    }

    /// What a refusal of the store means here: another check may have brought a lease meanwhile, and a hot key waits a moment.
    pub(super) fn after_refusal(
        &self,
        shop: &str,
        charges: &[Charge],
        refused: &Timed<Vec<Decision>>,
    ) -> Timed<Vec<Decision>> {
        let now = self.clock.now();
        self.with_book(shop, |book| {
            if let Some(TakenFromLeases { decisions, taken_at }) = book.take(charges, now) {
                return Timed { value: decisions, now: taken_at };
            }
            let told = charges.iter().zip(&refused.value);
            let paused = told.map(|(charge, decision)| book.paused(charge, *decision, now));
            Timed { value: paused.collect(), now: refused.now }
        })
    }

    /// Quota whose way is lost stays taken: the key refills by itself.
    async fn fetch(self, renewal: Renewal) {
        let Renewal { shop, wanted, returns, began } = renewal;
        for Refund { charge, taken_at } in returns {
            let _ = timeout(BUDGET, self.store.refund(&shop, &[charge], taken_at)).await;
        }
        for (charge, cost) in wanted {
            let grant = if cost > 0 { self.granted(&shop, Charge { cost, ..charge }).await } else { None };
            let now = self.clock.now();
            self.with_book(&shop, |book| book.hold(&charge, grant, began, now));
        }
    }

    async fn granted(&self, shop: &str, lease: Charge) -> Option<Grant> {
        let request = CheckRequest::new(vec![lease]).ok()?;
        let answer = timeout(BUDGET, self.store.check(shop, &request)).await.ok()?.ok()?;
        Grant::of(&lease, answer.value.decisions.first()?, answer.now)
    }

    fn with_book<T>(&self, shop: &str, look: impl FnOnce(&mut LeaseBook) -> T) -> T {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get_mut(shop) {
            return look(book);
        }
        look(books.entry(shop.to_owned()).or_default())
    }
}
