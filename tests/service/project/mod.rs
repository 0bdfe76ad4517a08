//! Project directories, checked and compiled with the functions of the service.

mod applications;
mod checks;
mod commands;
mod compile;
mod contract;
mod directory;
mod faults;
mod kit;
mod machine_reports;
mod package_lint;
mod reproducible;
mod values;
