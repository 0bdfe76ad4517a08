//! Substitution, secret references and masking.
