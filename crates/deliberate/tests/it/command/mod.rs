//! Tests of the commands as used in a shell.

mod backup;
mod config;
mod demo;
mod doctor;
mod file_locations;
mod help;
mod import;
mod papers;
mod prompt;
mod prompt_run;
mod servers;
mod sessions;
mod setup;
mod think;
mod token;
mod tools;
mod usage;
