//! In which order buyers of one lane came in, against the order of their numbers.

/// Sums over the numbers of one lane that have come in, in the logarithm of the lane's length.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    sums: Vec<u32>,
    entered: u64,
    inversions: u64,
}

impl Order {
    pub(crate) fn new(numbers: u32) -> Self {
        Self { sums: vec![0; numbers as usize + 2], entered: 0, inversions: 0 }
    }

    /// Notes that `number` came in and says how many higher numbers came in before it.
    pub(crate) fn enter(&mut self, number: u32) -> u32 {
        let overtakes = self.entered - self.up_to(number);
        let mut at = number as usize;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += 1;
            at += at & at.wrapping_neg();
        }
        self.entered += 1;
        self.inversions += overtakes;
        u32::try_from(overtakes).unwrap_or(u32::MAX)
    }

    /// Pairs in the wrong order, and all pairs.
    pub(crate) fn pairs(&self) -> (u64, u64) {
        (self.inversions, self.entered * self.entered.saturating_sub(1) / 2)
    }

    fn up_to(&self, number: u32) -> u64 {
        let (mut at, mut sum) = (number as usize, 0);
        while at > 0 {
            sum += u64::from(self.sums[at]);
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted_as_by_hand() {
        let mut order = Order::new(5);
        let overtakes: Vec<u32> = [2, 1, 5, 3, 4].map(|number| order.enter(number)).to_vec();
        assert_eq!(overtakes, [0, 1, 0, 1, 1]);
        assert_eq!(order.pairs(), (3, 10));
    }
}
