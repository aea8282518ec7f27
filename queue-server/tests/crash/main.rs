//! `kill -9` in the middle of joins and redemptions: what the store acknowledged is there when it is opened again.
//!
//! This program starts itself as the child that is killed; the child prints a line for each acknowledged answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use queue_server::{
    clock::Clock,
    store::{EmbeddedStore, HostedRoom, KeptRoom, RoomStore},
};
use shared::{
    ids::{DeviceHash, Epoch, EventId, LaneId, Place, TicketNumber},
    room::{EnterRefusal, JoinRequest, LaneSettings, Law, Planted, RoomSettings},
    time::Timestamp,
    wire::Phase,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

const CHILD: &str = "FAIRGATE_CRASH_CHILD";
const ROUNDS: u64 = 4;
/// Lines after which a child is killed, at the least.
const LINES: usize = 400;
const BUYERS: u64 = 24;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match env::var(CHILD) {
        Ok(told) => {
            let (round, dir) = told.split_once(':').unwrap();
            runtime.block_on(child(round.parse().unwrap(), Path::new(dir)));
        }
        Err(_) => runtime.block_on(parent()),
    }
}

/// What the children acknowledged.
#[derive(Default)]
struct Acknowledged {
    joined: BTreeMap<TicketNumber, DeviceHash>,
    /// Moment at which the session ends.
    redeemed: BTreeMap<TicketNumber, Timestamp>,
    finished: BTreeSet<TicketNumber>,
}

async fn parent() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    for round in 0..ROUNDS {
        let mut child = Killed(start_child(round, dir.path()));
        let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let kill_after = LINES + usize::try_from(round).unwrap() * 137;
        for (count, line) in lines.map_while(Result::ok).enumerate() {
            acknowledged.read(&line);
            if count == kill_after {
                // SIGKILL; what the pipe still holds was acknowledged before it.
                child.0.kill().unwrap();
            }
        }
        child.0.wait().unwrap();
        acknowledged.check(round, dir.path()).await;
    }
    let Acknowledged { joined, redeemed, finished } = &acknowledged;
    assert!(joined.len() > 100 && redeemed.len() > 50 && finished.len() > 10, "the child did too little");
    println!(
        "{ROUNDS} kills: {} joins, {} redemptions and {} ends were acknowledged, none was lost or given twice",
        joined.len(),
        redeemed.len(),
        finished.len()
    );
}

impl Acknowledged {
    /// One line: `joined`, `redeemed` or `finished`, the number, and what belongs to it.
    fn read(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (what, number) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
        let number = TicketNumber(number);
        let detail: u64 = words.next().unwrap().parse().unwrap();
        match what {
            "joined" => {
                let before = self.joined.insert(number, DeviceHash(detail.to_be_bytes()));
                assert_eq!(before, None, "number {number:?} was given twice");
            }
            "redeemed" => {
                let before = self.redeemed.insert(number, Timestamp::from_micros(detail));
                assert_eq!(before, None, "number {number:?} entered twice");
            }
            "finished" => drop(self.finished.insert(number)),
            other => panic!("the child said {other}"),
        }
    }

    async fn check(&self, round: u64, dir: &Path) {
        let (store, room) = open(dir);
        for (&number, &expires_at) in &self.redeemed {
            let entered = room.redeem(place(number), DeviceHash([0; 8])).await.unwrap();
            if self.finished.contains(&number) {
                assert_eq!(entered, Err(EnterRefusal::Spent), "round {round}: {number:?} lost its bit");
            } else {
                match entered {
                    // The room's time stood still while nobody ran it.
                    Ok(session) => assert!(session.expires_at >= expires_at, "round {round}: {number:?}"),
                    // The end was made durable and the child was killed before it could print it.
                    Err(refusal) => assert_eq!(refusal, EnterRefusal::Spent, "round {round}: {number:?}"),
                }
            }
        }
        for (&number, &device) in
            self.joined.iter().filter(|(number, _)| !self.redeemed.contains_key(*number))
        {
            let presented = Some(place(number));
            let request = JoinRequest { presented, ..JoinRequest::new(LaneId(0), device) };
            let joined = room.join(request).await.unwrap().unwrap();
            // Redeemed and finished without being printed, its owner gets a new number; otherwise the place is kept.
            assert!(joined.place.number >= number, "round {round}: {number:?} lost its place");
            if joined.place.number == number {
                assert!(joined.existed, "round {round}: {number:?} was given again");
            }
        }
        let sessions = room.expire().await.unwrap().sessions;
        let known = self.redeemed.len() - self.finished.len();
        let slack = usize::try_from(BUYERS * (round + 1)).unwrap();
        assert!(usize::try_from(sessions).unwrap() + slack >= known, "round {round}: sessions were lost");
        store.close().await;
    }
}

/// Buyers who join, redeem, and now and then finish, until they are killed.
async fn child(round: u64, dir: &Path) {
    let (_store, room) = open(dir);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(tick(Arc::clone(&room)));
    for buyer in 0..BUYERS {
        tasks.spawn(buy(Arc::clone(&room), round * 1_000_000 + buyer * 10_000));
    }
    tasks.join_all().await;
}

async fn tick(room: Arc<KeptRoom>) {
    let mut law = Law::default();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        ticks.tick().await;
        let facts = room.expire().await.unwrap();
        room.call(law.decide(&settings(), &facts)).await.unwrap();
    }
}

async fn buy(room: Arc<KeptRoom>, first_device: u64) {
    // The parent kills long before the last one; a child that was forgotten ends by itself.
    for device in first_device..first_device + 2_000 {
        let hash = DeviceHash(device.to_be_bytes());
        let request = JoinRequest::new(LaneId(0), hash);
        let joined = room.join(request).await.unwrap().unwrap();
        println!("joined {} {device}", joined.place.number.0);
        if device % 3 == 0 {
            continue;
        }
        if let Ok(session) = enter(&room, joined.place, hash).await {
            println!("redeemed {} {}", joined.place.number.0, session.expires_at.as_micros());
            if device % 2 == 0 && room.finish(joined.place).await.unwrap().is_ok() {
                println!("finished {} 0", joined.place.number.0);
            }
        }
    }
}

/// Waits for the turn and for a free session.
async fn enter(
    room: &KeptRoom,
    place: Place,
    device: DeviceHash,
) -> Result<shared::room::Session, EnterRefusal> {
    loop {
        match room.redeem(place, device).await.unwrap() {
            Err(EnterRefusal::NotYourTurn | EnterRefusal::Full { .. }) => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            entered => return entered,
        }
    }
}

/// Kills the child however the parent ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_child(round: u64, dir: &Path) -> Child {
    let told = format!("{round}:{}", dir.display());
    let program = env::current_exe().unwrap();
    Command::new(program).env(CHILD, told).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn open(dir: &Path) -> (EmbeddedStore, Arc<KeptRoom>) {
    let event = EventId::parse("drop").unwrap();
    let hosted = HostedRoom {
        event: event.clone(),
        settings: settings(),
        planted: Planted::default(),
        first_epoch: Epoch(1),
    };
    let store = EmbeddedStore::open(dir, vec![hosted], Clock::start()).unwrap();
    let room = store.room(&event).unwrap();
    (store, room)
}

fn place(number: TicketNumber) -> Place {
    Place { epoch: Epoch(1), lane: LaneId(0), number }
}

/// Room enough that only the turn decides.
fn settings() -> RoomSettings {
    RoomSettings {
        capacity: 100_000,
        admission_rate_per_s: 100_000,
        turn_grace: Duration::from_mins(5),
        pass_life: Duration::from_hours(1),
        session_max: Duration::from_hours(1),
        poll_budget_per_s: 1_000,
        session_extensions_max: 10,
        sessions_per_buyer: None,
        remembers_devices: true,
        phase: Phase::Open,
        opens_at: None,
        closes_at: None,
        lanes: vec![LaneSettings::weighing("guest", 1)],
    }
}
