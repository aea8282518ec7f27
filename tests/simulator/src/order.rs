//! In which order buyers of one lane came in, against the order of their numbers.

use std::ops::{Add, AddAssign, Sub};

/// How many of the numbers of one lane have come in, in the logarithm of the lane's length.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    sums: Sums<u32>,
    entered: u64,
    inversions: u64,
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u32,
    pub(crate) called_ms: u32,
    /// First try at the door.
    pub(crate) came_ms: u32,
    pub(crate) at_ms: u32,
    /// Its buyer asked when told to.
    pub(crate) is_judged: bool,
}

/// How far one buyer was overtaken, in seconds of the lane's flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Overtaken {
    /// From the call to the entry.
    pub(crate) all: f64,
    /// From the first try at the door on.
    pub(crate) at_door: f64,
    /// All, each at the mean flow.
    pub(crate) of_mean: f64,
}

/// Sums over all numbers up to one, each in the logarithm of their count.
#[derive(Clone, Debug)]
struct Sums<T>(Vec<T>);

impl Order {
    pub(crate) fn new(numbers: u32) -> Self {
        Self { sums: Sums::new(numbers), entered: 0, inversions: 0 }
    }

    /// Notes that `number` came in; the higher numbers that came in before it are inversions.
    pub(crate) fn enter(&mut self, number: u32) {
        self.inversions += self.entered - u64::from(self.sums.up_to(number));
        self.sums.add(number, 1);
        self.entered += 1;
    }

    /// Pairs in the wrong order, and all pairs.
    pub(crate) fn pairs(&self) -> (u64, u64) {
        (self.inversions, self.entered * self.entered.saturating_sub(1) / 2)
    }
}

impl<T: Copy + Default + Add<Output = T> + AddAssign + Sub<Output = T>> Sums<T> {
    fn new(numbers: u32) -> Self {
        Self(vec![T::default(); numbers as usize + 2])
    }

    fn add(&mut self, number: u32, more: T) {
        let mut at = number as usize;
        while let Some(sum) = self.0.get_mut(at) {
            *sum += more;
            at += at & at.wrapping_neg();
        }
    }

    fn up_to(&self, number: u32) -> T {
        let (mut at, mut sum) = (number as usize, T::default());
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

/// How far each judged buyer who was called after `filled_ms` was overtaken by judged buyers.
///
/// Somebody who comes in counts `1 / flow` seconds: the flow is that of the second in which they come in, the mean flow from
/// `filled_ms` on at least. So being passed by all who come in within a second is a second, however fast they come.
pub(crate) fn overtaken(entries: &[Entry], filled_ms: u32) -> Vec<Overtaken> {
    let Some(last_ms) = entries.last().map(|last| last.at_ms) else { return Vec::new() };
    let served_s = (f64::from(last_ms.saturating_sub(filled_ms)) / 1_000.0).max(1.0);
    let mean = entries.iter().filter(|entry| entry.at_ms > filled_ms).count() as f64 / served_s;
    let judged: Vec<&Entry> = entries.iter().filter(|entry| entry.is_judged).collect();
    let highest = judged.iter().map(|entry| entry.number).max().unwrap_or(0);
    let mut seconds = Passing::new(highest);
    let mut counts = Passing::new(highest);
    let mut came: Vec<(u32, u32)> = judged.iter().map(|entry| (entry.came_ms, entry.number)).collect();
    came.sort_unstable();
    let mut came = came.into_iter().peekable();
    // What had passed each number when its owner came to the door.
    let mut before_door_s = vec![0.0; highest as usize + 1];
    let mut found = Vec::new();
    for entry in judged {
        while let Some((_, number)) = came.next_if(|&(at_ms, _)| at_ms <= entry.at_ms) {
            before_door_s[number as usize] = seconds.past(number);
        }
        if entry.called_ms > filled_ms {
            let all = seconds.past(entry.number);
            let at_door = all - before_door_s[entry.number as usize];
            found.push(Overtaken { all, at_door, of_mean: counts.past(entry.number) / mean });
        }
        seconds.enter(entry.number, 1.0 / mean.max(in_second_of(entries, entry.at_ms)));
        counts.enter(entry.number, 1.0);
    }
    found
}

/// Entries in the second in which a moment lies.
fn in_second_of(entries: &[Entry], at_ms: u32) -> f64 {
    let second = at_ms / 1_000;
    let from = entries.partition_point(|entry| entry.at_ms / 1_000 < second);
    let until = entries.partition_point(|entry| entry.at_ms / 1_000 <= second);
    (until - from) as f64
}

/// What has come in so far, by numbers.
struct Passing {
    sums: Sums<f64>,
    all: f64,
}

impl Passing {
    fn new(highest: u32) -> Self {
        Self { sums: Sums::new(highest), all: 0.0 }
    }

    fn enter(&mut self, number: u32, worth: f64) {
        self.sums.add(number, worth);
        self.all += worth;
    }

    /// What has come in of higher numbers.
    fn past(&self, number: u32) -> f64 {
        self.all - self.sums.up_to(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted_as_by_hand() {
        let mut order = Order::new(5);
        for number in [2, 1, 5, 3, 4] {
            order.enter(number);
        }
        assert_eq!(order.pairs(), (3, 10));
    }

    /// Ten a second; number 1 comes to the door after 3 s and in after 5 s.
    #[test]
    fn who_is_passed_by_all_for_a_second_is_overtaken_by_a_second() {
        let entry = |number, at_ms| Entry { number, called_ms: 1, came_ms: at_ms, at_ms, is_judged: true };
        let others = (1..=200).map(|number| entry(number + 1, number * 100));
        let late = Entry { came_ms: 3_050, ..entry(1, 5_050) };
        let mut entries: Vec<Entry> = others.chain([late]).collect();
        entries.sort_by_key(|entry| entry.at_ms);
        let most = overtaken(&entries, 0).into_iter().map(|one| (one.all, one.at_door));
        let (all, at_door) =
            most.fold((0.0, 0.0), |most: (f64, f64), one| (most.0.max(one.0), most.1.max(one.1)));
        assert!((all - 5.0_f64).abs() < 0.1 && (at_door - 2.0_f64).abs() < 0.1, "{all} {at_door}");
        assert!(overtaken(&entries, 20_000).is_empty(), "called before the first fill was over");
    }
}
