//! The parts of HTTP that the model judges: clients, origins, tokens, references, preconditions and pages of
//! lists.

pub(crate) mod client_network;
pub(crate) mod origin;
pub(crate) mod page;
pub(crate) mod precondition;
pub(crate) mod token;
pub(crate) mod uri_reference;
