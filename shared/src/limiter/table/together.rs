//! All or nothing over several keys, which may lie in several tables.

use super::LimiterTable;
use super::decide::is_stored;
use crate::limiter::check::{Charge, CheckReply, CheckRequest};
use crate::limiter::{State, Transition};
use crate::time::Timestamp;
use core::ops::DerefMut;

/// Where the key of one charge lies.
struct Home {
    /// Index of its table.
    table: usize,
    slot: u64,
    position: Option<usize>,
}

/// Takes every charge, or none. `table_of` says in which of `tables` a charge's key lies, by its place in the request.
pub(super) fn check<T: DerefMut<Target = LimiterTable>>(
    tables: &mut [T],
    table_of: impl Fn(usize) -> usize,
    request: &CheckRequest,
    now: Timestamp,
) -> CheckReply {
    let (charges, holder) = (request.charges(), request.holder());
    let mut homes = find(tables, &table_of, charges);
    if homes.iter().any(|home| home.position.is_none()) {
        make_room(tables, &homes, now);
        // Entries may have moved.
        homes = find(tables, &table_of, charges);
    }
    let judge = |(charge, home): (&Charge, &Home)| {
        Some(tables.get(home.table)?.judge(home.position, charge, holder, now, charge.cost))
    };
    let mut transitions: Vec<Transition<State>> = charges.iter().zip(&homes).filter_map(judge).collect();
    if all_allowed(&transitions) {
        refuse_too_many_unrecorded(tables, charges, &homes, &mut transitions, now);
    }
    let takes = all_allowed(&transitions);
    let decide = |((charge, home), transition): ((&Charge, &Home), Transition<State>)| {
        let table = tables.get_mut(home.table)?;
        let decision = transition.decision;
        if !takes && decision.is_allowed() {
            // Nothing was taken, so what an agreeing key has left is what it had before.
            return Some(table.judge(home.position, charge, holder, now, 0).decision);
        }
        match home.position {
            Some(position) if is_stored(charge, &decision) => {
                table.keep(position, &charge.policy, transition.state);
            }
            None if takes && charge.cost > 0 && table.room() > 0 => {
                table.insert(home.slot, charge.key, &charge.policy, transition.state);
            }
            // A new key has no lock to begin: only a count that was taken can be full.
            _ => {}
        }
        Some(decision)
    };
    CheckReply { decisions: charges.iter().zip(&homes).zip(transitions).filter_map(decide).collect() }
}

/// Where the keys lie, in the order of their charges.
fn find<T: DerefMut<Target = LimiterTable>>(
    tables: &[T],
    table_of: impl Fn(usize) -> usize,
    charges: &[Charge],
) -> Vec<Home> {
    let home = |(place, charge): (usize, &Charge)| {
        let table = table_of(place);
        let slot = tables.get(table)?.slot_of(charge.key);
        let position = tables.get(table)?.find(slot, charge.key);
        Some(Home { table, slot, position })
    };
    charges.iter().enumerate().filter_map(home).collect()
}

/// Sweeps each table for the new keys that it is asked for.
fn make_room<T: DerefMut<Target = LimiterTable>>(tables: &mut [T], homes: &[Home], now: Timestamp) {
    for (index, table) in tables.iter_mut().enumerate() {
        let is_new_here = |home: &&Home| home.table == index && home.position.is_none();
        table.make_room(homes.iter().filter(is_new_here).count(), now);
    }
}

/// Turns the check into a refusal where a table without room has let too many new keys pass lately. Each such table
/// counts the check once, whatever the others say.
fn refuse_too_many_unrecorded<T: DerefMut<Target = LimiterTable>>(
    tables: &mut [T],
    charges: &[Charge],
    homes: &[Home],
    transitions: &mut [Transition<State>],
    now: Timestamp,
) {
    for (index, table) in tables.iter_mut().enumerate() {
        let asked = charges.iter().zip(homes).zip(transitions.iter_mut());
        let new_here = asked
            .filter(|((charge, home), _)| charge.cost > 0 && home.table == index && home.position.is_none());
        let roomless = new_here.skip(table.room()).last();
        if let Some((_, transition)) = roomless
            && let Some(denied) = table.pass_unrecorded(now)
        {
            transition.decision = denied;
        }
    }
}

fn all_allowed(transitions: &[Transition<State>]) -> bool {
    transitions.iter().all(|transition| transition.decision.is_allowed())
}
