//! Members of the shop: one person on several devices.
//!
//! A proof never improves a place: whoever has one keeps it. A member without one on this device is told the place that they
//! have on another. Whoever got several before the proof, on several devices, enters by one of them, and gives up the others with it.

use super::{Room, join::JoinRequest, record::RecordKey, visits::Member};
use crate::ids::{DeviceHash, LaneId, MemberHash, Place, TicketNumber};
use std::collections::BTreeMap;

/// Places that one member may have got before their proofs; on a further device they are told the first of these.
const PLACES_MAX: usize = 8;

/// The members whom a room knows, and which devices are theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    known: BTreeMap<MemberHash, Member>,
    by_device: BTreeMap<DeviceHash, MemberHash>,
}

impl Members {
    /// Whose device this is, if its owner has proved it.
    pub(super) fn of_device(&self, device: DeviceHash) -> Option<MemberHash> {
        self.by_device.get(&device).copied()
    }

    pub(super) fn get(&self, member: MemberHash) -> Option<&Member> {
        self.known.get(&member)
    }

    pub(super) fn restore(&mut self, member: MemberHash, known: Member) {
        self.known.insert(member, known);
    }

    pub(super) fn restore_device(&mut self, device: DeviceHash, member: MemberHash) {
        self.by_device.insert(device, member);
    }

    /// The keys of everything that is known.
    pub(super) fn keys(&self) -> impl Iterator<Item = RecordKey> {
        let members = self.known.keys().copied().map(RecordKey::Member);
        members.chain(self.by_device.keys().copied().map(RecordKey::DeviceOfMember))
    }

    /// Numbering begins anew; sessions belong to the event and stay, and whose a device is.
    pub(super) fn forget_places(&mut self) {
        self.known.values_mut().for_each(|member| member.places.clear());
    }
}

impl Room {
    /// How many sessions the buyer has had, counted by device or by member, whichever is more.
    pub(super) fn sessions_had(&self, request: &JoinRequest) -> u32 {
        let of_device = self.devices.get(request.device).sessions;
        let member = request.member.or_else(|| self.members.of_device(request.device));
        let of_member =
            member.and_then(|member| self.members.get(member)).map_or(0, |member| member.sessions);
        of_device.max(of_member)
    }

    /// The places that the member has proved, the first one in front.
    pub(super) fn places_of(&self, member: Option<MemberHash>) -> Vec<Place> {
        let known = member.and_then(|member| self.members.get(member));
        let place = |&(lane, number): &(LaneId, TicketNumber)| Place { epoch: self.epoch, lane, number };
        known.into_iter().flat_map(|member| &member.places).map(place).collect()
    }

    /// The buyer's place is `place`, whichever way they ask for it from now on.
    pub(super) fn note_place(&mut self, request: &JoinRequest, place: Place) {
        self.remember(request.device, place);
        let Some(hash) = request.member else { return };
        let live: Vec<Place> =
            self.places_of(Some(hash)).into_iter().filter(|&place| self.is_live(place)).collect();
        let member = self.members.known.entry(hash).or_default();
        member.places = live.iter().map(|place| (place.lane, place.number)).collect();
        if !live.contains(&place) && live.len() < PLACES_MAX {
            member.places.push((place.lane, place.number));
        }
        self.members.by_device.insert(request.device, hash);
        self.changes.lazily(RecordKey::Member(hash));
        self.changes.lazily(RecordKey::DeviceOfMember(request.device));
    }

    /// Counts the session that `device` has just begun in `place`. A member gives up their other places with it.
    pub(super) fn count_visit(&mut self, device: DeviceHash, place: Place) {
        // The visit counts whether or not the room still knew the device.
        self.devices.count_session(device, &mut self.changes);
        let Some(hash) = self.members.of_device(device) else { return };
        for other in self.places_of(Some(hash)) {
            if other != place && self.sessions.get(other).is_none() {
                self.spend(other);
                self.doorstep.leave(other);
            }
        }
        if let Some(member) = self.members.known.get_mut(&hash) {
            member.sessions = member.sessions.saturating_add(1);
            member.places.retain(|&(lane, number)| (lane, number) == (place.lane, place.number));
            self.changes.lazily(RecordKey::Member(hash));
        }
    }
}
