//! All or nothing over several keys, which may lie in several tables.

use super::{LimiterTable, is_stored};
use crate::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use crate::limiter::{State, Transition};
use crate::time::Timestamp;
use core::array;
use core::ops::DerefMut;

/// One charge while it is judged.
struct Judged {
    /// Index of its table.
    table: usize,
    slot: u64,
    position: Option<usize>,
    transition: Transition<State>,
}

/// Takes every charge, or none. `table_of` says in which of `tables` a charge's key lies, by its place in the request.
pub(super) fn check<T: DerefMut<Target = LimiterTable>>(
    tables: &mut [T],
    table_of: impl Fn(usize) -> usize,
    request: &CheckRequest,
    now: Timestamp,
) -> CheckReply {
    let charges = request.charges();
    make_room(tables, &table_of, charges, now);
    let mut judged: [Option<Judged>; CHARGES_MAX] = array::from_fn(|index| {
        let (charge, table) = (charges.get(index)?, table_of(index));
        let home = tables.get(table)?;
        let slot = home.slot_of(charge.key);
        let position = home.find(slot, charge.key);
        let transition = home.judge(position, charge, request.holder(), now, charge.cost);
        Some(Judged { table, slot, position, transition })
    });
    let judged = judged.as_mut_slice();
    if all_allowed(judged) {
        refuse_too_many_unrecorded(tables, charges, judged, now);
    }
    let takes = all_allowed(judged);
    let decide = |(charge, judged): (&Charge, &mut Option<Judged>)| {
        let Judged { table, slot, position, transition } = judged.take()?;
        let home = tables.get_mut(table)?;
        let decision = transition.decision;
        if !takes && decision.is_allowed() {
            // Nothing was taken, so what an agreeing key has left is what it had before.
            return Some(home.judge(position, charge, request.holder(), now, 0).decision);
        }
        match position {
            Some(position) if is_stored(charge, &decision) => {
                home.keep(position, &charge.policy, transition.state);
            }
            None if takes && charge.cost > 0 && home.room() > 0 => {
                home.insert(slot, charge.key, &charge.policy, transition.state);
            }
            // A new key has no lock to begin: only a count that was taken can be full.
            _ => {}
        }
        Some(decision)
    };
    CheckReply { decisions: charges.iter().zip(judged).filter_map(decide).collect() }
}

/// Sweeps each table for the new keys that it is asked for.
fn make_room<T: DerefMut<Target = LimiterTable>>(
    tables: &mut [T],
    table_of: impl Fn(usize) -> usize,
    charges: &[Charge],
    now: Timestamp,
) {
    for (index, table) in tables.iter_mut().enumerate() {
        let is_new_here = |(place, charge): &(usize, &Charge)| {
            table_of(*place) == index && table.find(table.slot_of(charge.key), charge.key).is_none()
        };
        let new_keys = charges.iter().enumerate().filter(is_new_here).count();
        table.make_room(new_keys, now);
    }
}

/// Turns the check into a refusal where a table without room has let too many new keys pass lately. Each such table
/// counts the check once, whatever the others say.
fn refuse_too_many_unrecorded<T: DerefMut<Target = LimiterTable>>(
    tables: &mut [T],
    charges: &[Charge],
    judged: &mut [Option<Judged>],
    now: Timestamp,
) {
    for (index, table) in tables.iter_mut().enumerate() {
        let new_here = charges.iter().zip(judged.iter_mut()).filter_map(|(charge, judged)| {
            judged
                .as_mut()
                .filter(|judged| charge.cost > 0 && judged.table == index && judged.position.is_none())
        });
        let roomless = new_here.skip(table.room()).last();
        if let Some(roomless) = roomless
            && let Some(denied) = table.pass_unrecorded(now)
        {
            roomless.transition.decision = denied;
        }
    }
}

fn all_allowed(judged: &[Option<Judged>]) -> bool {
    judged.iter().flatten().all(|judged| judged.transition.decision.is_allowed())
}
