//! `fairgate access`: makes, lists and revokes bearer keys.

use super::{AccessKey, AccessKeys, Role, Shops};
use anyhow::{Result, bail};
use clap::Subcommand;
use std::{collections::BTreeSet, path::PathBuf};

/// What is done with the keys. A running server takes changes up within seconds.
#[derive(Debug, Subcommand)]
pub enum AccessAction {
    /// Make a key and print it, this once.
    Create {
        /// What the key may do. May be given several times.
        #[arg(long = "role", value_enum, required = true)]
        roles: Vec<Role>,
        /// A shop that the key is for. May be given several times.
        #[arg(long = "shop", value_name = "SHOP", required_unless_present = "every_shop")]
        shops: Vec<String>,
        /// The key is for every shop, also for those to come.
        #[arg(long, conflicts_with = "shops")]
        every_shop: bool,
        /// Who uses the key, for people who read the list.
        #[arg(long, default_value = "")]
        note: String,
        /// Directory of the secrets.
        #[arg(long, value_name = "DIR", default_value = ".fairgate")]
        data_dir: PathBuf,
    },
    /// Say which keys there are.
    List {
        /// Directory of the secrets.
        #[arg(long, value_name = "DIR", default_value = ".fairgate")]
        data_dir: PathBuf,
    },
    /// Make a key worthless.
    Revoke {
        /// The key's id: what stands between the two underscores of the key.
        id: String,
        /// Directory of the secrets.
        #[arg(long, value_name = "DIR", default_value = ".fairgate")]
        data_dir: PathBuf,
    },
}

impl AccessAction {
    /// Carries it out, and returns what it has to print.
    pub fn run(self) -> Result<String> {
        Ok(match self {
            Self::Create { roles, shops, every_shop, note, data_dir } => {
                if let Some(shop) = shops.iter().find(|shop| !is_shop_name(shop)) {
                    bail!("{shop:?} names no shop: a name is 1 to 32 characters of a-z, 0-9 and -");
                }
                let mut keys = AccessKeys::read(&data_dir)?;
                let shops = if every_shop { Shops::All } else { Shops::Named(shops.into_iter().collect()) };
                let text = keys.create(one_line(&note), roles.into_iter().collect(), shops)?;
                keys.save(&data_dir)?;
                eprintln!("This key is shown once; whoever has it may do what it says.");
                format!("{text}\n")
            }
            Self::List { data_dir } => {
                let line = |key: &AccessKey| {
                    let roles: Vec<&str> = key.roles.iter().map(|role| role.name()).collect();
                    format!(
                        "{} {} for {}: {}\n",
                        key.id,
                        roles.join(", "),
                        shops_in_words(&key.shops),
                        key.note
                    )
                };
                AccessKeys::read(&data_dir)?.iter().map(line).collect()
            }
            Self::Revoke { id, data_dir } => {
                let mut keys = AccessKeys::read(&data_dir)?;
                if !keys.revoke(&id) {
                    bail!("no key has the id {id}; `fairgate access list` shows them");
                }
                keys.save(&data_dir)?;
                format!("Key {id} is worthless within seconds.\n")
            }
        })
    }
}

fn shops_in_words(shops: &Shops) -> String {
    let names = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match shops {
        Shops::All => "every shop".to_owned(),
        Shops::Named(shops) => names(shops),
    }
}

fn is_shop_name(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(is_fit)
}

/// A note is one line of printable text, so that it cannot break the file.
fn one_line(note: &str) -> String {
    note.chars().filter(|character| !character.is_control()).take(NOTE_CHARS_MAX).collect()
}

const NOTE_CHARS_MAX: usize = 100;
