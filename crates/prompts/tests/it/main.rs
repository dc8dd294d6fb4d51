//! The prompt engine, from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod addresses;
mod arguments;
mod chain_plans;
mod chain_steps;
mod chains;
mod commands;
mod commands_scripts;
mod control;
mod control_house;
mod control_injection;
mod control_runs;
mod control_use;
mod engine_commands;
mod gates_bounds;
mod gates_check;
mod gates_collect;
mod gates_definitions;
mod gates_review;
mod gates_texts;
mod gates_verdict;
mod injection;
mod injection_laws;
mod kit;
mod library_bad;
mod library_check;
mod library_cross;
mod library_formats;
mod library_law;
mod library_live;
mod library_workspace;
mod manage_attacks;
mod manage_checkpoints;
mod manage_create;
mod manage_delete;
mod manage_disk;
mod manage_kit;
mod manage_list;
mod manage_listed;
mod manage_refusals;
mod manage_update;
mod manage_versions;
mod menu;
mod resource_tool;
mod reviews;
mod shipped;
mod templates;
mod templates_conditions;
mod templates_hostile;
mod templates_references;
