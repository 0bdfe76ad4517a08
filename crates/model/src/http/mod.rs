//! The parts of HTTP that the model judges: clients, origins, tokens, references, preconditions, pages of
//! lists and text within markup.

pub(crate) mod byte_order_mark;
pub(crate) mod client_network;
pub(crate) mod markup;
pub(crate) mod origin;
pub(crate) mod page;
pub(crate) mod precondition;
pub(crate) mod token;
pub(crate) mod uri_reference;
