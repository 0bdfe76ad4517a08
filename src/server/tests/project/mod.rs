//! Project directories, checked and compiled with the functions of the service.

mod checks;
mod commands;
mod compile;
mod faults;
mod kit;
