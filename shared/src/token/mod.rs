//! Whether a ticket, a device cookie, a pass or a request of the edge is ours.
//!
//! One master secret per key id lives at the queue server. The edge holds only what is derived as its *edge root*: it can check
//! everything a buyer presents, but it cannot mint a place, because the second tag of a ticket comes from the master alone.

pub mod assertion;
pub mod device;
pub mod edge_signature;
pub mod keyring;
pub mod keys;
mod mac;
pub mod pass;
pub mod receipt;
pub mod ticket;

pub use device::DeviceId;
pub use keyring::{KeyId, MasterKeys};
pub use keys::{EdgeKeys, ServerKeys};
pub use pass::{JWKS_MAX_AGE, PassClaims, PassError, PassId};
pub use receipt::{InvalidReceipt, Receipt, ReceiptId};
pub use ticket::{Ticket, TicketError, TicketText};
