//! The commands as a person at a shell uses them.

mod backup;
mod config;
mod demo;
mod doctor;
mod doctor_url;
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
