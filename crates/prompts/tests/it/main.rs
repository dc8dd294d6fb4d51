//! Tests of the prompt engine through its public interface.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod arguments;
mod busy_principal;
mod chain_plans;
mod chain_steps;
mod chains;
mod computed_work;
mod control;
mod control_injection;
mod control_runs;
mod control_support;
mod control_use;
mod engine_commands;
mod engine_support;
mod gates_bounds;
mod gates_check;
mod gates_definitions;
mod gates_review;
mod gates_selection;
mod gates_texts;
mod gates_verdict;
mod injection;
mod injection_properties;
mod library_check;
mod library_cross_references;
mod library_formats;
mod library_invalid;
mod library_live;
mod library_properties;
mod library_support;
mod mcp_prompts;
mod process_commands;
mod process_scripts;
mod prompt_fence;
mod resource_manager_attacks;
mod resource_manager_checkpoints;
mod resource_manager_create;
mod resource_manager_delete;
mod resource_manager_disk;
mod resource_manager_errors;
mod resource_manager_list;
mod resource_manager_script_protection;
mod resource_manager_support;
mod resource_manager_tool;
mod resource_manager_update;
mod resource_manager_versions;
mod resource_uris;
mod reviews;
mod shipped_library;
mod templates;
mod templates_conditions;
mod templates_hostile;
mod templates_references;
