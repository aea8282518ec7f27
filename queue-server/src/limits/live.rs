//! What is in force: the configuration, the shops' own settings on top of it, and who may call. Changed as a whole.

use super::{
    journal::{Change, Journal, Override},
    store::LimitStore,
};
use crate::access::AccessKeys;
use sha2::{Digest, Sha256};
use shared::{
    config::{Config, OverrideError, PolicyMode, PolicyOverride},
    limiter::{Policy, compact::CompactLockout},
    wire::limits::OverrideBody,
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::{Mutex, watch};
use tracing::warn;

/// The limits of a running server. Readers take one [`InForce`] for each request.
pub struct Live {
    in_force: watch::Sender<Arc<InForce>>,
    base: Mutex<Base>,
    journal: Option<Arc<Journal>>,
}

/// One state of affairs.
pub struct InForce {
    /// The file with the shops' own settings applied.
    pub config: Config,
    pub access: AccessKeys,
    /// Settings told through the API, by shop and policy.
    pub overrides: BTreeMap<(String, String), OverrideBody>,
    /// Changes with everything that the limits say.
    pub etag: String,
}

/// What the state of affairs is made of.
struct Base {
    store: Arc<dyn LimitStore>,
    config: Config,
    access: AccessKeys,
    overrides: BTreeMap<(String, String), OverrideBody>,
}

/// Why a shop's settings were not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideRefusal {
    #[error(transparent)]
    Target(#[from] OverrideError),
    #[error("{0}")]
    Settings(String),
    #[error("there are {OVERRIDES_MAX} overrides already: remove one first")]
    TooMany,
    #[error("the settings could not be made durable")]
    NotDurable,
}

/// Policies that the store of the limits cannot keep, a line each, with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BeyondStore(String);

/// Most overrides of all shops together.
pub const OVERRIDES_MAX: usize = 10_000;

impl Live {
    /// Begins with what the file and the journal say. An override that no longer fits the file, or the `store` of the limits, is kept but
    /// not applied.
    ///
    /// # Errors
    /// Policies of the file that the store cannot keep.
    pub fn new(
        store: Arc<dyn LimitStore>,
        config: Config,
        access: AccessKeys,
        written: Vec<Override>,
        journal: Option<Arc<Journal>>,
    ) -> Result<Self, BeyondStore> {
        accepts_all(store.as_ref(), &config)?;
        let read = |written: Override| {
            let body = serde_json::from_str(written.text.as_deref()?);
            let body = body
                .map_err(|error| warn!(%error, written.shop, written.policy, "an override cannot be read"));
            Some(((written.shop, written.policy), body.ok()?))
        };
        let overrides = written.into_iter().filter_map(read).collect();
        let base = Base { store, config, access, overrides };
        Ok(Self { in_force: watch::Sender::new(Arc::new(base.in_force())), base: Mutex::new(base), journal })
    }

    pub fn now(&self) -> Arc<InForce> {
        Arc::clone(&self.in_force.borrow())
    }

    /// Puts another file in force. Live keys take over what is in use as their policies say.
    ///
    /// # Errors
    /// Policies that the store cannot keep: then the last file stays.
    pub async fn replace_config(&self, config: Config) -> Result<(), BeyondStore> {
        let mut base = self.base.lock().await;
        accepts_all(base.store.as_ref(), &config)?;
        base.config = config;
        self.in_force.send_replace(Arc::new(base.in_force()));
        Ok(())
    }

    pub async fn replace_access(&self, access: AccessKeys) {
        let mut base = self.base.lock().await;
        base.access = access;
        self.in_force.send_replace(Arc::new(base.in_force()));
    }

    /// Gives a shop its own settings of a policy: durable, then in force.
    pub async fn put_override(
        &self,
        shop: &str,
        policy: &str,
        body: OverrideBody,
    ) -> Result<(), OverrideRefusal> {
        let mut base = self.base.lock().await;
        let key = (shop.to_owned(), policy.to_owned());
        if base.overrides.len() >= OVERRIDES_MAX && !base.overrides.contains_key(&key) {
            return Err(OverrideRefusal::TooMany);
        }
        let own = base.own_settings(&base.config, shop, policy, &body)?;
        base.config.clone().apply(&own)?;
        let text =
            serde_json::to_string(&body).map_err(|error| OverrideRefusal::Settings(error.to_string()))?;
        self.write(&key, Some(text)).await?;
        base.overrides.insert(key, body);
        self.in_force.send_replace(Arc::new(base.in_force()));
        Ok(())
    }

    /// Takes a shop's own settings away; whether it had some.
    pub async fn delete_override(&self, shop: &str, policy: &str) -> Result<bool, OverrideRefusal> {
        let mut base = self.base.lock().await;
        let key = (shop.to_owned(), policy.to_owned());
        if !base.overrides.contains_key(&key) {
            return Ok(false);
        }
        self.write(&key, None).await?;
        base.overrides.remove(&key);
        self.in_force.send_replace(Arc::new(base.in_force()));
        Ok(true)
    }

    async fn write(&self, key: &(String, String), text: Option<String>) -> Result<(), OverrideRefusal> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let (shop, policy) = key.clone();
        let pending = journal.write(vec![Change::Override(Override { shop, policy, text })]);
        pending.durable().await.map_err(|_| OverrideRefusal::NotDurable)
    }
}

impl Base {
    fn in_force(&self) -> InForce {
        let mut config = self.config.clone();
        for ((shop, policy), body) in &self.overrides {
            let applied = self
                .own_settings(&config, shop, policy, body)
                .and_then(|own| config.apply(&own).map_err(OverrideRefusal::from));
            if let Err(error) = applied {
                warn!(shop, policy, %error, "an override does not fit the configuration and is not applied");
            }
        }
        let etag = etag(&config);
        InForce { config, access: self.access.clone(), overrides: self.overrides.clone(), etag }
    }

    /// What the body asks for, on top of what the shop has, if the store keeps it.
    fn own_settings(
        &self,
        config: &Config,
        shop: &str,
        policy: &str,
        body: &OverrideBody,
    ) -> Result<PolicyOverride, OverrideRefusal> {
        let own = own_settings(config, shop, policy, body)?;
        self.store.accepts(&own.limiter).map_err(OverrideRefusal::Settings)?;
        Ok(own)
    }
}

fn accepts_all(store: &dyn LimitStore, config: &Config) -> Result<(), BeyondStore> {
    let of_shops =
        config.shops.iter().flat_map(|shop| shop.policies.iter().map(|policy| (shop.id.as_str(), policy)));
    let told = of_shops.filter_map(|(shop, policy)| {
        let why = store.accepts(&policy.limiter).err()?;
        Some(format!("policy {} of {shop}: {why}", policy.name))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { Ok(()) } else { Err(BeyondStore(told.join("\n"))) }
}

/// What the body asks for, on top of what the shop has.
fn own_settings(
    config: &Config,
    shop: &str,
    policy: &str,
    body: &OverrideBody,
) -> Result<PolicyOverride, OverrideRefusal> {
    let found = config.shop(shop).ok_or(OverrideError::NoSuchShop)?;
    let before = found.policy(policy).ok_or(OverrideError::NoSuchPolicy)?;
    let mut mode = body.mode.as_deref().map(parse_mode).transpose()?;
    let limiter = match (&body.lockout, &body.settings) {
        (Some(_), Some(_)) => {
            return Err(OverrideRefusal::Settings("write lockout or settings, not both".to_owned()));
        }
        (None, None) if mode.is_none() && body.inherit.is_none() => {
            return Err(OverrideRefusal::Settings("write lockout, settings, mode or inherit".to_owned()));
        }
        (None, None) => before.limiter,
        (Some(text), None) => {
            let compact = text.parse::<CompactLockout>().map_err(|error| settings_error(&error))?;
            if !compact.enabled {
                mode = Some(PolicyMode::Off);
            }
            compact.policy().map(Policy::Lockout).map_err(|error| settings_error(&error))?
        }
        (None, Some(settings)) => {
            Policy::try_from(settings.clone()).map_err(|error| settings_error(&error))?
        }
    };
    if limiter.quota() == 0 {
        return Err(OverrideRefusal::Settings(
            "nobody could ever pass; write at least 1, or the mode off".to_owned(),
        ));
    }
    let (shop, policy) = (shop.to_owned(), policy.to_owned());
    Ok(PolicyOverride { shop, policy, limiter, mode, inherit: body.inherit })
}

fn parse_mode(text: &str) -> Result<PolicyMode, OverrideRefusal> {
    let mut modes = [PolicyMode::Off, PolicyMode::Shadow, PolicyMode::Enforced].into_iter();
    let mode = modes.find(|mode| mode.name() == text);
    mode.ok_or_else(|| OverrideRefusal::Settings("mode is off, shadow or enforced".to_owned()))
}

fn settings_error(error: &dyn std::fmt::Display) -> OverrideRefusal {
    OverrideRefusal::Settings(error.to_string())
}

/// A name for everything that limits say, the same on every server with the same settings.
fn etag(config: &Config) -> String {
    let mut hasher = Sha256::new();
    for shop in &config.shops {
        hasher.update(format!("{}{:?}{:?}{:?}", shop.id, shop.policies, shop.limits, shop.routes));
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let first =
        digest.first_chunk::<12>().map_or_else(String::new, |bytes| data_encoding::HEXLOWER.encode(bytes));
    format!("\"{first}\"")
}
