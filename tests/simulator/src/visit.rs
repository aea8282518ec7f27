//! What one buyer does at their moment: join, ask, enter, stay, end.
//!
//! The intervals are those of the waiting page: a called buyer redeems at once, a refused one when told, a failed call waits
//! a second more and full jitter.

use crate::{
    crowd::State,
    run::World,
    scenario::{Habit, TroubleKind},
    watch::Violation,
};
use shared::{
    http::language::Language,
    ids::{DeviceHash, LaneId},
    room::{EnterRefusal, Heard, JoinRequest, Session, status},
    wire::{EtaRange, TicketState},
};
use std::time::Duration;

impl World<'_> {
    pub(crate) fn act(&mut self, id: u32) {
        match self.buyer(id).state {
            State::Arriving => self.join(id),
            State::Waiting => self.poll(id),
            State::AtDoor => self.redeem(id),
            State::Inside => self.stay(id),
            State::Finishing => self.finish(id),
            State::TryingAgain => self.try_again(id),
            State::Gone => {}
        }
    }

    fn join(&mut self, id: u32) {
        if !self.reaches_server() {
            return self.try_later(id);
        }
        let lane = LaneId(self.buyer(id).lane);
        let request = JoinRequest { may_enter: true, ..JoinRequest::new(lane, device(id)) };
        let Ok(joined) = self.room.join(self.now(), request) else { return self.try_later(id) };
        self.watch.joined(self.now_ms, id, joined.place);
        let joined_ms = self.now_ms;
        let buyer = self.buyer(id);
        (buyer.number, buyer.joined_ms) = (joined.place.number.0 as u32, joined_ms);
        if self.sent_twice() {
            let again = self.room.join(self.now(), request);
            if again.map(|again| (again.place, again.existed)) != Ok((joined.place, true)) {
                let number = joined.place.number.0;
                self.watch.report(self.now_ms, Violation::DuplicateDiffers { number });
            }
        }
        if let Some(session) = joined.session {
            self.watch.called_on_arrival(joined.place);
            self.note_called(usize::from(lane.0), joined.place.number);
            // Who need not wait does not walk away.
            self.present += u32::from(!self.buyer(id).present);
            self.buyer(id).present = true;
            return self.enter(id, session);
        }
        if !self.buyer(id).present {
            return self.buyer(id).state = State::Gone;
        }
        self.sample.present += 1;
        self.buyer(id).state = State::Waiting;
        self.ask(id, true);
    }

    fn poll(&mut self, id: u32) {
        self.sample.polls += 1;
        if self.has(TroubleKind::NetworkAway) {
            return self.try_later(id);
        }
        self.buyer(id).faults = 0;
        self.ask(id, false);
    }

    /// Reads the status from a snapshot and plans what follows from it; the join's answer is made from the newest one.
    fn ask(&mut self, id: u32, newest: bool) {
        let (youngest, oldest) = self.scenario.snapshot_age_ms;
        let age_ms = if newest { 0 } else { self.chance.u32(youngest..=oldest) };
        let snapshot = self.snapshot_of_age(age_ms);
        let (tick, place) = (snapshot.tick, self.place(id));
        let Some(told) = status(snapshot, place, self.now(), Language::En) else {
            return self.watch.report(self.now_ms, Violation::TurnLost { number: place.number.0 });
        };
        let is_news = tick >= self.buyer(id).seen_tick;
        if is_news {
            self.buyer(id).seen_tick = tick;
            self.note_position(id, told.position);
            self.note_eta(id, told.eta);
        }
        let may_try = told.state == TicketState::Waiting && !newest && self.reaches_server();
        if may_try && self.chance.f64() < TRIES_EARLY {
            self.buyer(id).state = State::AtDoor;
            return self.redeem(id);
        }
        if told.state == TicketState::Waiting {
            // A join says nothing of who stays.
            if !newest {
                self.heard.push(Heard { place, again: Duration::from_millis(told.next_poll_ms) });
            }
            let asleep_ms = self.sleep_ms(id);
            let again_ms = match self.buyer(id).habit {
                Habit::Bot => 1_000,
                Habit::AsTold | Habit::Sleeps => told.next_poll_ms as u32,
            };
            return self.plan(id, asleep_ms.unwrap_or(again_ms));
        }
        if told.state == TicketState::Late {
            self.note_late(id);
        }
        self.buyer(id).state = State::AtDoor;
        let round_trip_ms = self.round_trip_ms();
        self.plan(id, round_trip_ms);
    }

    fn note_position(&mut self, id: u32, position: Option<u64>) {
        let (now_ms, buyer) = (self.now_ms, self.buyer(id));
        let to = position.unwrap_or(0);
        let (number, from) = (u64::from(buyer.number), buyer.shown);
        buyer.shown = to;
        if to > from {
            self.watch.report(now_ms, Violation::PositionRose { number, from, to });
        }
    }

    fn note_eta(&mut self, id: u32, eta: Option<EtaRange>) {
        let now_ms = self.now_ms;
        let buyer = self.buyer(id);
        buyer.first_eta = buyer.first_eta.or(eta);
        if buyer.eta.is_none() && now_ms >= buyer.joined_ms + ETA_KNOWN_MS {
            buyer.eta = eta.map(|eta| (now_ms, eta));
        }
    }

    fn redeem(&mut self, id: u32) {
        if !self.reaches_server() {
            return self.try_later(id);
        }
        self.buyer(id).faults = 0;
        let place = self.place(id);
        match self.room.redeem(self.now(), place, device(id)) {
            Ok(session) => {
                if self.sent_twice() && self.room.redeem(self.now(), place, device(id)) != Ok(session) {
                    let number = place.number.0;
                    self.watch.report(self.now_ms, Violation::DuplicateDiffers { number });
                }
                self.enter(id, session);
            }
            Err(EnterRefusal::Full { retry_after }) => {
                let now_ms = self.now_ms;
                let buyer = self.buyer(id);
                if buyer.refused_ms == 0 {
                    buyer.refused_ms = now_ms;
                }
                let jitter_ms = self.round_trip_ms();
                self.plan(id, retry_after.as_millis() as u32 + jitter_ms);
            }
            Err(EnterRefusal::Held(_)) => {
                self.buyer(id).was_cut_off = true;
                self.plan(id, 5_000);
            }
            Err(EnterRefusal::NotYourTurn) => {
                self.buyer(id).state = State::Waiting;
                self.plan(id, ASKS_AGAIN_MS);
            }
            Err(
                EnterRefusal::Moved
                | EnterRefusal::Spent
                | EnterRefusal::Void
                | EnterRefusal::TurnExpired
                | EnterRefusal::Closed,
            ) => {
                if self.was_there(id) {
                    self.watch.report(self.now_ms, Violation::TurnLost { number: place.number.0 });
                }
                self.leave_for_good(id);
            }
        }
    }

    /// A session has begun, by a redemption or at the join into an empty line.
    fn enter(&mut self, id: u32, session: Session) {
        let (now_ms, place) = (self.now_ms, self.place(id));
        self.ledger.begin(Self::ms_of(session.expires_at));
        self.watch.entered(now_ms, place, self.ledger.inside(), &self.scenario.room);
        self.sample.entries += 1;
        let buyer = self.buyer(id);
        buyer.expires_ms = Self::ms_of(session.expires_at);
        buyer.leaves_ms = now_ms + buyer.stay_ms;
        buyer.state = State::Inside;
        self.served += 1;
        self.sample.inside += 1;
        let was_there = self.was_there(id);
        self.measured.note_entry(now_ms, place, &self.buyers[id as usize], was_there);
        self.plan_inside(id);
    }

    /// The next thing inside: the page renews after half of the pass's life, until its owner leaves.
    fn plan_inside(&mut self, id: u32) {
        let life_ms = self.scenario.room.pass_life.as_millis() as u32;
        let now_ms = self.now_ms;
        let buyer = self.buyer(id);
        let due_ms = buyer.leaves_ms.min(buyer.expires_ms).min(now_ms + life_ms / 2);
        self.wheel.plan(id, now_ms, due_ms);
    }

    fn stay(&mut self, id: u32) {
        let now_ms = self.now_ms;
        let (leaves_ms, expires_ms) = (self.buyer(id).leaves_ms, self.buyer(id).expires_ms);
        if !self.ledger.lives(expires_ms) {
            self.sample.inside -= 1;
            return self.leave_for_good(id);
        }
        if now_ms >= leaves_ms {
            self.sample.inside -= 1;
            if !self.buyer(id).explicit_end {
                return self.leave_for_good(id);
            }
            self.buyer(id).state = State::Finishing;
            let report_ms = self.chance.u32(0..1_000);
            return self.plan(id, report_ms);
        }
        if !self.reaches_server() {
            let until = leaves_ms.min(expires_ms).min(now_ms + RENEW_AGAIN_MS);
            return self.wheel.plan(id, now_ms, until);
        }
        if let Ok(session) = self.room.renew(self.now(), self.place(id)) {
            self.ledger.end(expires_ms);
            let expires_ms = Self::ms_of(session.expires_at);
            self.ledger.begin(expires_ms);
            self.buyer(id).expires_ms = expires_ms;
        }
        self.plan_inside(id);
    }

    /// The shop's word that a session is over reaches the server; one that does not get through is lost.
    fn finish(&mut self, id: u32) {
        let expires_ms = self.buyer(id).expires_ms;
        if self.reaches_server() && self.room.finish(self.now(), self.place(id)).is_ok() {
            self.ledger.end(expires_ms);
            if self.chance.f64() < TRY_AGAIN_SHARE {
                self.buyer(id).state = State::TryingAgain;
                return self.plan(id, 1_000);
            }
        }
        self.leave_for_good(id);
    }

    /// Some try their ticket once more after their visit.
    fn try_again(&mut self, id: u32) {
        let place = self.place(id);
        if self.reaches_server() && self.room.redeem(self.now(), place, device(id)).is_ok() {
            self.watch.report(self.now_ms, Violation::EnteredTwice { number: place.number.0 });
        }
        self.leave_for_good(id);
    }

    fn leave_for_good(&mut self, id: u32) {
        self.buyer(id).state = State::Gone;
        self.done += 1;
    }

    fn note_late(&mut self, id: u32) {
        if self.was_there(id) {
            self.measured.lost_turns += 1;
        }
    }

    /// Whether the buyer could have come within `turn_grace` after the call, asleep for no part of it that matters.
    fn was_there(&self, id: u32) -> bool {
        let buyer = &self.buyers[id as usize];
        let called_ms = self.measured.called_ms(usize::from(buyer.lane), buyer.number.into());
        let grace_ms = self.scenario.room.turn_grace.as_millis() as u32;
        !buyer.has_slept || buyer.woke_ms < called_ms + grace_ms
    }

    /// How long a phone falls asleep now, if it does.
    fn sleep_ms(&mut self, id: u32) -> Option<u32> {
        let buyer = self.buyer(id);
        if buyer.habit != Habit::Sleeps || buyer.has_slept || self.chance.f64() >= FALLS_ASLEEP {
            return None;
        }
        let asleep_ms = self.chance.u32(SLEEP_MS);
        let woke_ms = self.now_ms + asleep_ms;
        let buyer = self.buyer(id);
        (buyer.has_slept, buyer.woke_ms) = (true, woke_ms);
        Some(asleep_ms)
    }

    fn reaches_server(&self) -> bool {
        !self.has(TroubleKind::ServerAway) && !self.has(TroubleKind::NetworkAway)
    }

    /// After a failed call: a second more and full jitter up to a minute, as the page does it.
    fn try_later(&mut self, id: u32) {
        let buyer = self.buyer(id);
        buyer.was_cut_off |= matches!(buyer.state, State::Waiting | State::AtDoor);
        buyer.faults = buyer.faults.saturating_add(1);
        let most_ms = (2_000_u32 << buyer.faults.min(5)).min(60_000);
        let wait_ms = 1_000 + self.chance.u32(0..most_ms);
        self.plan(id, wait_ms);
    }

    fn sent_twice(&mut self) -> bool {
        self.scenario.duplicates > 0.0 && self.chance.f64() < self.scenario.duplicates
    }

    fn round_trip_ms(&mut self) -> u32 {
        self.chance.u32(ROUND_TRIP_MS)
    }

    fn plan(&mut self, id: u32, after_ms: u32) {
        self.wheel.plan(id, self.now_ms, self.now_ms + after_ms);
    }

    fn buyer(&mut self, id: u32) -> &mut crate::crowd::Buyer {
        &mut self.buyers[id as usize]
    }
}

fn device(id: u32) -> DeviceHash {
    let [a, b, c, d] = id.to_be_bytes();
    DeviceHash([a, b, c, d, 0, 0, 0, 1])
}

const ROUND_TRIP_MS: std::ops::Range<u32> = 50..300;
const RENEW_AGAIN_MS: u32 = Duration::from_secs(5).as_millis() as u32;
const TRY_AGAIN_SHARE: f64 = 0.02;
/// Share of the polls of waiting buyers after which they try the door, although it is not their turn.
const TRIES_EARLY: f64 = 0.002;
/// The first estimates of a sale are guesses.
const ETA_KNOWN_MS: u32 = 120_000;
const ASKS_AGAIN_MS: u32 = 5_000;
const FALLS_ASLEEP: f64 = 0.2;
const SLEEP_MS: std::ops::Range<u32> = 60_000..600_000;
