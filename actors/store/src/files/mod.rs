//! The database as files: exclusive use, the rights on them, their copies.

pub(crate) mod backup;
pub(crate) mod file_lock;
pub(crate) mod private_file;
