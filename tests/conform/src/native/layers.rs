//! Several keys at once, in a table of `shared`.

use super::charges::Layers;
use super::holder_of;
use crate::reply::Answer;
use crate::vector::{Call, Case, Op};
use shared::limiter::check::CheckRequest;
use shared::limiter::key::TableSeed;
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;

pub(super) fn answers(case: &Case) -> Result<Vec<Answer>, String> {
    let mut table = LimiterTable::new(KEYS_MAX, TableSeed([0; 16]));
    let mut layers = Layers::of(case)?;
    case.steps.iter().map(|call| answer(&mut table, &mut layers, call)).collect()
}

fn answer(table: &mut LimiterTable, layers: &mut Layers, call: &Call) -> Result<Answer, String> {
    let now = Timestamp::from_micros(call.t_us);
    let holder = call.holder.as_deref().map(holder_of);
    layers.change(call)?;
    let (taken, looked) = (layers.charges(call, call.cost)?, layers.charges(call, 0)?);
    for (taken, looked) in taken.iter().zip(&looked) {
        match call.op {
            Op::Take | Op::Peek => {}
            Op::Refund => table.refund(taken, call.taken_us.map_or(now, Timestamp::from_micros), now),
            Op::Give => table.give(looked, holder.ok_or("nobody gives")?, now),
            // A table learns of a change from the next charge, and peeks store nothing: this one gives back nothing.
            Op::SetPolicy => table.replenish(looked, now),
        }
    }
    let charges = if call.op == Op::Take { taken } else { looked };
    let request = CheckRequest::new(charges).map_err(|error| error.to_string())?;
    let request = holder.into_iter().fold(request, CheckRequest::held_by);
    Ok(layers.tell(&table.check(&request, now)))
}

const KEYS_MAX: usize = 1_000;
