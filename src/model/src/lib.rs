//! The vocabulary of the service: entities, errors, validation, content hash.
