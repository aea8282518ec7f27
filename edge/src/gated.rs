//! A gated mutation: add to cart. The order of the steps is the order of their cost.

use crate::calls::forward::{self, Buyers};
use crate::device::NewDevice;
use crate::incoming::Incoming;
use crate::limits::{Limits, SHARED_STAGES};
use crate::origin::{self, ToShop};
use crate::page::Waiting;
use crate::refusal::Refusal;
use crate::reply::{self, SET_COOKIE, cookies_set, value_set};
use crate::reporting::{self, OriginWatch};
use crate::{rooms, server};
use futures_util::future::join;
use shared::config::{RouteConfig, ShopConfig};
use shared::gate::{Admission, Asked, Buyer, Entered, HeldPass, PassView, Stage, admit, after_asking};
use shared::http::cookie::Cookie;
use shared::http::cors::Caller;
use shared::http::page::wait_path;
use shared::http::path::CanonicalPath;
use shared::http::reason::Reason;
use shared::http::sku::{Sku, SkuRequest, extract, needs_body};
use shared::ids::EventId;
use shared::wire::Snapshot;
use std::sync::Arc;
use worker::console_warn;
use worker::web_sys::Response;

pub(crate) async fn answer(
    incoming: &Incoming,
    shop: &ShopConfig,
    route: &RouteConfig,
    path: &CanonicalPath,
    caller: Caller<'_>,
) -> Result<Response, Refusal> {
    let buyer = incoming.buyer()?;
    let mut limits = Limits::of_request(incoming, shop, Some(route), &buyer).await;
    limits.take(&[Stage::Personal]).await?;
    let body = if needs_body(route) { Some(incoming.body().await?) } else { None };
    let sku = read_sku(incoming, route, path, body.as_deref())?;
    let event = shop.event_of_sku(&sku);
    limits.know_sku(sku);
    let Some(event) = event else { return to_shop(limits, shop, body.as_deref()).await };
    let gated = Gated { incoming, shop, event, buyer: &buyer, body: body.as_deref() };
    let snapshot = rooms::snapshot(incoming, event).await?;
    let passes = buyer.passes(&incoming.isolate.config, event);
    let admission = gated.with_view(snapshot.as_deref(), |view| admit(view, &passes, caller))?;
    match admission {
        Admission::Pass(pass) => gated.go_on(limits, pass).await,
        Admission::Ask => gated.ask(limits, snapshot.as_ref()).await,
        Admission::Wait(reason) => gated.wait(reason, snapshot.as_deref(), Vec::new()),
    }
}

/// What is on sale without a queue goes on, under its limits.
async fn to_shop(
    mut limits: Limits<'_>,
    shop: &ShopConfig,
    body: Option<&[u8]>,
) -> Result<Response, Refusal> {
    limits.take(&SHARED_STAGES).await?;
    origin::pass_through(&mut limits, shop, &ToShop { body, pass: None }).await
}

fn read_sku(
    incoming: &Incoming,
    route: &RouteConfig,
    path: &CanonicalPath,
    body: Option<&[u8]>,
) -> Result<Sku, Reason> {
    let (content_type, content_encoding) =
        (incoming.header("content-type"), incoming.header("content-encoding"));
    let request = SkuRequest {
        content_type: content_type.as_deref(),
        content_encoding: content_encoding.as_deref(),
        query: incoming.query(),
        body: body.unwrap_or_default(),
    };
    extract(route, path, &request)
}

/// A gated request whose event is known.
struct Gated<'a> {
    incoming: &'a Incoming,
    shop: &'a ShopConfig,
    event: &'a EventId,
    buyer: &'a Buyer<'a>,
    body: Option<&'a [u8]>,
}

impl<'a> Gated<'a> {
    /// On to the shop with a pass, which is renewed beside the shop's work when half of its life is over.
    async fn go_on(&self, mut limits: Limits<'a>, pass: HeldPass<'_>) -> Result<Response, Refusal> {
        let renewal = async { if pass.renews { self.renew().await } else { Vec::new() } };
        let (response, cookies) = join(self.send(&mut limits, Some(&pass)), renewal).await;
        self.reply(response, Some(pass), cookies, &limits)
    }

    /// To the shop, if the quota of shop and SKU lets it pass.
    async fn send(&self, limits: &mut Limits<'a>, pass: Option<&HeldPass<'_>>) -> Result<Response, Refusal> {
        limits.take(&SHARED_STAGES).await?;
        let to_shop = ToShop { body: self.body, pass: pass.map(|pass| pass.jwt) };
        let watch =
            pass.and_then(|pass| OriginWatch::begin(self.incoming, self.shop, self.event, pass.place));
        let response = origin::send(limits, self.shop, &to_shop).await;
        if let Some(watch) = watch {
            watch.end(response.as_ref().ok().map(Response::status));
        }
        response
    }

    /// Joins and enters by one call to the queue server, as it seems that nobody waits.
    async fn ask(
        &self,
        mut limits: Limits<'a>,
        snapshot: Option<&Arc<Snapshot>>,
    ) -> Result<Response, Refusal> {
        let incoming = self.incoming;
        let mut joining = Limits::of_join(incoming, self.shop, self.buyer).await;
        joining.take(&Stage::ALL).await?;
        let path = format!("events/{}/ticket", self.event);
        let device = NewDevice::of(incoming, self.buyer);
        let call = forward::call(incoming, Buyers::json("POST", &path, JOIN_BUDGET_MS).with(device.as_ref()));
        let (mut cookies, refusal) = match call.send(&incoming.isolate).await {
            // A reply of 5xx is the server's own trouble, such as a store that did not confirm.
            Ok(response) if response.status() < 500 => {
                (cookies_set(&response)?, server::reason_told(&response))
            }
            _ => (Vec::new(), Some(Reason::QueueUnreachable)),
        };
        cookies.extend(device.map(|device| device.set_cookie));
        let pass_name = incoming.isolate.config.site.cookie_mode.name(Cookie::Pass(self.event));
        let asked = match (value_set(&cookies, &pass_name), refusal) {
            (Some(pass), _) => Asked::Entered(pass),
            (None, None) => Asked::InLine,
            (None, Some(Reason::QueueUnreachable)) => Asked::Unreachable,
            (None, Some(reason)) => Asked::Refused(reason),
        };
        let entered = self.with_view(snapshot.map(AsRef::as_ref), |view| after_asking(view, asked))?;
        match entered {
            Entered::Pass(pass) => {
                let response = self.send(&mut limits, Some(&pass)).await;
                self.reply(response, Some(pass), cookies.clone(), &limits)
            }
            Entered::Unproved => {
                self.count_unproved();
                let response = self.send(&mut limits, None).await;
                self.reply(response, None, cookies, &limits)
            }
            Entered::Wait(reason) => {
                // A refusal says nothing of a line: others may find the shop empty.
                if asked == Asked::InLine {
                    incoming.room(self.event)?.slot.borrow_mut().note_line();
                }
                self.wait(reason, snapshot.map(AsRef::as_ref), cookies)
            }
        }
    }

    /// The waiting page for a navigation, a refusal that tells where to wait for everybody else.
    fn wait(
        &self,
        reason: Reason,
        snapshot: Option<&Snapshot>,
        cookies: Vec<String>,
    ) -> Result<Response, Refusal> {
        let incoming = self.incoming;
        let return_path = incoming.page_before();
        if !incoming.is_navigation() {
            let url = wait_path(&incoming.isolate.config.site.prefix, self.event, &return_path);
            let cookies = cookies.into_iter().map(|cookie| (SET_COOKIE, cookie));
            return Err(Refusal::wait(reason, url).with_headers(cookies));
        }
        let waiting = Waiting {
            event: self.event,
            return_path: &return_path,
            snapshot,
            refusal: Some(reason),
            joined: false,
            cookies,
            status: 503,
        };
        waiting.response(incoming, self.buyer)
    }

    /// The shop's reply for the client; what it says about the session and the cart is noted. Who got no reply keeps the
    /// new pass all the same.
    fn reply(
        &self,
        response: Result<Response, Refusal>,
        pass: Option<HeldPass<'_>>,
        cookies: Vec<String>,
        limits: &Limits<'_>,
    ) -> Result<Response, Refusal> {
        let cookies = cookies.into_iter().map(|cookie| (SET_COOKIE, cookie));
        let response = match response {
            Ok(response) => response,
            Err(refusal) => return Err(refusal.with_headers(cookies)),
        };
        reporting::note_outcome(self.incoming, self.event, response.status());
        let session = pass.map(|pass| (self.event, pass.place));
        reporting::note_session_word(self.incoming, self.shop, &response, session)?;
        Ok(reply::passed_on(&response, cookies.chain(limits.fields()))?)
    }

    /// The cookies of a renewed session; none where it fails, because the pass in hand still opens the gate.
    async fn renew(&self) -> Vec<String> {
        let path = format!("events/{}/session/renew", self.event);
        let call = forward::call(self.incoming, Buyers::json("POST", &path, RENEW_BUDGET_MS));
        match call.send(&self.incoming.isolate).await {
            Ok(response) if response.status() == 200 => cookies_set(&response).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn count_unproved(&self) {
        let count = &self.incoming.isolate.memory.unproved_requests;
        count.set(count.get().saturating_add(1));
        if count.get().is_power_of_two() {
            console_warn!("{} requests went on without a pass while the queue server is away", count.get());
        }
    }

    fn with_view<T>(
        &self,
        snapshot: Option<&Snapshot>,
        decide: impl FnOnce(&PassView<'_>) -> T,
    ) -> Result<T, Refusal> {
        let room = self.incoming.room(self.event)?;
        let (ended, slot) = (room.ended.borrow(), room.slot.borrow());
        let view = PassView {
            keys: &self.incoming.isolate.keys,
            event: self.event,
            shop_id: &self.shop.id,
            ended: &ended,
            snapshot,
            now: self.incoming.now,
            server_time: slot.server_time(self.incoming.now),
            is_server_away: slot.is_server_away(self.incoming.now),
        };
        Ok(decide(&view))
    }
}

/// An arrival waits no longer than this to learn whether there is a line.
const JOIN_BUDGET_MS: u32 = 3_000;

/// A renewal runs beside the shop's work and must not hold up its reply.
const RENEW_BUDGET_MS: u32 = 1_000;
