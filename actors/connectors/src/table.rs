//! Which connectors are in use, as everybody sees it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::drivers::Driver;
use crate::load::LoadError;

/// One enabled or disabled connector, as the last load left it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) state: State,
    /// The reload that it is of; a later one has a higher number.
    pub(crate) reload: u64,
}

#[derive(Clone)]
pub(crate) enum State {
    Loaded(Arc<Loaded>),
    Failed(LoadError),
    Disabled,
}

/// A connector in use.
pub(crate) struct Loaded {
    /// Path of its actor.
    pub(crate) path: String,
    /// What it was made of.
    pub(crate) digest: [u8; 32],
    pub(crate) driver: Driver,
}

/// Every stored connector.
#[derive(Clone, Default)]
pub(crate) struct Table {
    by_id: HashMap<Arc<str>, Arc<Entry>>,
    by_name: HashMap<Arc<str>, Arc<Entry>>,
}

impl Table {
    pub(crate) fn by_id(&self, id: &str) -> Option<&Arc<Entry>> {
        self.by_id.get(id)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(name)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by_id.values()
    }

    pub(crate) fn put(&mut self, entry: Entry) {
        self.remove(&entry.id.clone());
        let entry = Arc::new(entry);
        self.by_name.insert(Arc::clone(&entry.name), Arc::clone(&entry));
        self.by_id.insert(Arc::clone(&entry.id), entry);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        let Some(gone) = self.by_id.remove(id) else { return };
        // Another may have taken the name since.
        if self.by_name.get(&gone.name).is_some_and(|entry| *entry.id == *id) {
            self.by_name.remove(&gone.name);
        }
    }
}

/// What a connector's last load came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// In use.
    Loaded,
    /// Not in use, and why.
    Failed(LoadError),
    /// Switched off.
    Disabled,
}

impl LoadState {
    /// The name in answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Failed(_) => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// The load status of one connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStatus {
    /// Its id.
    pub id: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// What its last load came to.
    pub state: LoadState,
}

impl From<&Entry> for LoadStatus {
    fn from(entry: &Entry) -> Self {
        let state = match &entry.state {
            State::Loaded(_) => LoadState::Loaded,
            State::Failed(error) => LoadState::Failed(error.clone()),
            State::Disabled => LoadState::Disabled,
        };
        Self { id: Arc::clone(&entry.id), name: Arc::clone(&entry.name), state }
    }
}
