//! The connectors that a reload looks at.

/// The connectors that a reload looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectorScope {
    /// All connectors; one whose settings have not changed goes on running.
    All,
    /// The connector of this id, which was written: it starts anew even with the settings it had.
    One(String),
}
