//! The compact form of a lockout, `enabled|max|window_s|lock_s`, as shops write it in their settings.

use super::Cost;
use super::lockout::LockoutPolicy;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;
use core::time::Duration;

/// A lockout and whether it applies: `true|3|1|30` is three calls a second, and a lock of 30 s for the fourth.
///
/// ```
/// use shared::limiter::compact::{CompactField, CompactLockout};
/// let setting: CompactLockout = "true|3|1|30".parse().unwrap();
/// assert_eq!((setting.enabled, setting.max, setting.lock_s), (true, 3, 30));
/// assert_eq!(setting.to_string(), "true|3|1|30");
/// let error = "true|3|0|30".parse::<CompactLockout>().unwrap_err();
/// assert_eq!(error.to_string(), "window_s (part 3 of 4): a whole number from 1 to 4294967295, not \"0\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactLockout {
    /// Where false nothing is counted, and no store is asked.
    pub enabled: bool,
    /// Most calls in one window; 0 denies all.
    pub max: u32,
    /// The length of a window in seconds.
    pub window_s: NonZeroU32,
    /// The length of a lock in seconds; 0: refused until the window ends.
    pub lock_s: u32,
}

/// A part of the compact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactField {
    /// `true` or `false`.
    Enabled,
    /// The most calls.
    Max,
    /// Seconds of a window.
    Window,
    /// Seconds of a lock.
    Lock,
}

/// Where a compact form is malformed, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactError {
    /// Another number of parts.
    #[error("write enabled|max|window_s|lock_s, 4 parts; there are {parts}")]
    Parts {
        /// How many there are.
        parts: usize,
    },
    /// The first part is neither word.
    #[error("{}: \"true\" or \"false\", not \"{found}\"", CompactField::Enabled)]
    NotABool {
        /// At most [`FOUND_CHARS_MAX`] characters of what stands there.
        found: String,
    },
    /// A part is no number in range.
    #[error("{field}: a whole number from {least} to 4294967295, not \"{found}\"")]
    NotANumber {
        /// Which part.
        field: CompactField,
        /// The least that is right.
        least: u32,
        /// At most [`FOUND_CHARS_MAX`] characters of what stands there.
        found: String,
    },
}

/// How much of a wrong part its error repeats.
pub const FOUND_CHARS_MAX: usize = 32;

impl CompactLockout {
    /// What an action without a setting has: off, three calls a second, and a lock of 30 s.
    pub const BUILT_IN: Self = Self { enabled: false, max: 3, window_s: NonZeroU32::MIN, lock_s: 30 };

    /// The limiter, whether enabled or not.
    ///
    /// # Errors
    /// None for a value of this type: 2^32 seconds fit every clock.
    pub fn policy(&self) -> Result<LockoutPolicy, super::PolicyError> {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        LockoutPolicy::new(Cost::from(self.max), seconds(self.window_s.get()), seconds(self.lock_s))
    }
}

impl FromStr for CompactLockout {
    type Err = CompactError;

    fn from_str(text: &str) -> Result<Self, CompactError> {
        let parts: Vec<&str> = text.splitn(PARTS_READ, '|').collect();
        let &[enabled, max, window, lock] = parts.as_slice() else {
            return Err(CompactError::Parts { parts: text.split('|').count() });
        };
        let enabled = match enabled {
            "true" => true,
            "false" => false,
            other => return Err(CompactError::NotABool { found: shortened(other) }),
        };
        let window_s = NonZeroU32::new(number(CompactField::Window, window, 1)?);
        Ok(Self {
            enabled,
            max: number(CompactField::Max, max, 0)?,
            window_s: window_s.unwrap_or(NonZeroU32::MIN),
            lock_s: number(CompactField::Lock, lock, 0)?,
        })
    }
}

impl fmt::Display for CompactLockout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}|{}|{}", self.enabled, self.max, self.window_s, self.lock_s)
    }
}

impl fmt::Display for CompactField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enabled => "enabled (part 1 of 4)",
            Self::Max => "max (part 2 of 4)",
            Self::Window => "window_s (part 3 of 4)",
            Self::Lock => "lock_s (part 4 of 4)",
        })
    }
}

/// Digits only: `u32::from_str` would take a plus sign too.
fn number(field: CompactField, text: &str, least: u32) -> Result<u32, CompactError> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number >= least);
    number.ok_or_else(|| CompactError::NotANumber { field, least, found: shortened(text) })
}

fn shortened(found: &str) -> String {
    found.chars().take(FOUND_CHARS_MAX).collect()
}

/// One more than is right, so that a long line is not taken apart.
const PARTS_READ: usize = 5;
