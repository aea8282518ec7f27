//! The Worker in front of the shop.
