//! The database: pools, repositories, the group-commit writer.
