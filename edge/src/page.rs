//! The waiting page, as the answer to a refused navigation and as a call of its own.

use crate::device::NewDevice;
use crate::incoming::Incoming;
use crate::refusal::Refusal;
use crate::reply::{PERSONAL, Reply, SET_COOKIE, value_set};
use shared::gate::Buyer;
use shared::http::cookie::Cookie;
use shared::http::form;
use shared::http::navigation::return_path;
use shared::http::page::{Standing, WaitingPage, wait_path};
use shared::http::reason::Reason;
use shared::ids::EventId;
use shared::room::status;
use shared::token::Ticket;
use shared::wire::Snapshot;
use worker::web_sys::Response;

/// What a waiting page is about.
pub(crate) struct Waiting<'a> {
    pub(crate) event: &'a EventId,
    pub(crate) return_path: &'a str,
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// Why the buyer was sent here; `None` where the page was asked for.
    pub(crate) refusal: Option<Reason>,
    /// The page follows a join by form, so that a ticket cookie should have come along.
    pub(crate) joined: bool,
    /// `Set-Cookie` values of the queue server, for a buyer whom this very request brought into the line.
    pub(crate) cookies: Vec<String>,
    pub(crate) status: u16,
}

impl Waiting<'_> {
    pub(crate) fn response(self, incoming: &Incoming, buyer: &Buyer<'_>) -> Result<Response, Refusal> {
        let (ticket, unread) = match self.ticket(incoming, buyer) {
            Ok(ticket) => (Some(ticket), None),
            Err(reason) => (None, Some(reason)),
        };
        let server_time = incoming.room(self.event)?.slot.borrow().server_time(incoming.now);
        let known = self.snapshot.zip(ticket.as_ref());
        let status = known
            .and_then(|(snapshot, ticket)| status(snapshot, ticket.place, server_time, incoming.language()));
        let (standing, lost) = match &ticket {
            Some(_) if self.snapshot.is_none() || status.is_some() => {
                (Standing::Holding(status.as_ref()), None)
            }
            // A ticket of an earlier epoch holds nothing any more.
            Some(_) => (Standing::Outside, Some(Reason::TicketVoid)),
            None if self.joined && unread == Some(Reason::NoTicket) => (Standing::CookieLost, None),
            None => (Standing::Outside, unread.filter(|reason| *reason != Reason::NoTicket)),
        };
        let event = incoming.isolate.config.event(self.event).ok_or(Reason::EventUnknown)?;
        let page = WaitingPage {
            event: self.event,
            title: &event.title,
            prefix: &incoming.isolate.config.site.prefix,
            return_path: self.return_path,
            language: incoming.language(),
            standing,
            refusal: lost.or(self.refusal),
            turn_grace: event.turn_grace,
            now: server_time,
            request_id: &incoming.request_id,
        };
        let retry_after = (self.status >= 400).then(|| ("retry-after", RETRY_AFTER_S.to_owned()));
        let has_device =
            value_set(&self.cookies, &incoming.isolate.config.site.cookie_mode.name(Cookie::Device))
                .is_some();
        let device = if has_device { None } else { NewDevice::of(incoming, buyer) };
        let device = device.map(|device| device.set_cookie);
        let cookies = self.cookies.into_iter().chain(device).map(|cookie| (SET_COOKIE, cookie));
        let reply = Reply::new(self.status, page.render());
        Ok(reply.with(page.headers()).with(retry_after).with(cookies).response()?)
    }

    /// The ticket that was just given, or else the one that came along.
    fn ticket(&self, incoming: &Incoming, buyer: &Buyer<'_>) -> Result<Ticket, Reason> {
        let (config, keys) = (&incoming.isolate.config, &incoming.isolate.keys);
        let given = value_set(&self.cookies, &config.site.cookie_mode.name(Cookie::Ticket(self.event)));
        let given = given.and_then(|text| keys.open_ticket(text, self.event).ok());
        let presented = || buyer.ticket(config, keys, self.event).map(|found| found.ticket);
        given.map_or_else(presented, Ok)
    }
}

/// Sends a form of the waiting page back to it, which then says why the form was refused.
pub(crate) fn back(incoming: &Incoming, event: &EventId, reason: Reason) -> Result<Response, Refusal> {
    let page = incoming.page_before();
    let query = page.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let asked = form::first(query, "return");
    let return_path = asked.as_deref().and_then(return_path).unwrap_or("/");
    let page = wait_path(&incoming.isolate.config.site.prefix, event, return_path);
    let (name, value) = PERSONAL;
    let headers = [("location", format!("{page}&reason={}", reason.code())), (name, value.to_owned())];
    Ok(Reply::empty(303).with(headers).response()?)
}

/// When a client that cannot run the page may try again, in seconds.
const RETRY_AFTER_S: &str = "5";
