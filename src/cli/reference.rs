//! `docs/reference.md`, made of what the code says. `UPDATE_REFERENCE=1 cargo test --bin kcp-ephemeral reference` writes
//! it anew.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use ephemeral_index::Problem;
use structural_schema::Value;

use super::Cli;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference.md");

#[test]
fn the_reference_is_what_the_code_says() {
    let reference = reference();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(FILE, &reference).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap();
    assert!(
        written == reference,
        "docs/reference.md is not what the code says; this module tells how to renew it"
    );
}

fn reference() -> String {
    format!(
        "# Reference\n\nThe kind EphemeralWebhook, its conditions, and the flags of each command.\n\n{}\n{}\n{}",
        kind(),
        conditions(),
        flags()
    )
}

fn kind() -> String {
    let manifest = structural_schema::yaml::decode(crate::manifests::OWN_SCHEMA_MANIFEST.as_bytes())
        .unwrap()
        .value;
    let versions = manifest.get("spec").and_then(|spec| spec.get("versions"));
    let Some(Value::Array(versions)) = versions else {
        panic!("versions")
    };
    let schema = versions[0].get("schema").unwrap();
    let mut text = String::from("## EphemeralWebhook\n\n");
    writeln!(text, "{}\n", description(schema)).unwrap();
    text.push_str("| field | type | default | |\n| --- | --- | --- | --- |\n");
    for part in ["spec", "status"] {
        rows(&mut text, part, property(schema, part));
    }
    text
}

fn rows(text: &mut String, path: &str, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, schema) in properties.iter() {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let default = schema.get("default").map_or_else(String::new, |default| {
            let mut json = Vec::new();
            structural_schema::json::encode(default, &mut json);
            format!("`{}`", String::from_utf8(json).unwrap().trim())
        });
        let path = format!("{path}.{name}");
        writeln!(
            text,
            "| `{path}` | {kind} | {default} | {} |",
            cell(&description(schema))
        )
        .unwrap();
        rows(text, &path, schema);
    }
}

fn property<'a>(schema: &'a Value, name: &str) -> &'a Value {
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .unwrap()
}

fn description(schema: &Value) -> String {
    schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn conditions() -> String {
    let mut text = String::from(
        "## Conditions\n\nEach is True, False with a reason of this list and a message that names the fix, or Unknown with \
         the reason `Pending`. `Ready` repeats the first problem of the others, but for those of `CallsSucceeding`, which \
         is absent until calls were made and stops none.\n\n| condition | reason | message |\n| --- | --- | --- |\n",
    );
    for problem in Problem::examples() {
        let condition = problem.condition().as_str();
        writeln!(
            text,
            "| `{condition}` | `{}` | {} |",
            problem.reason(),
            cell(&problem.message())
        )
        .unwrap();
    }
    text
}

fn flags() -> String {
    let mut text = String::from("## Commands\n");
    let mut command = Cli::command();
    command.build();
    for command in command.get_subcommands() {
        command_flags(&mut text, "kcp-ephemeral", command);
    }
    text
}

fn command_flags(text: &mut String, parent: &str, command: &Command) {
    if command.get_name() == "help" {
        return;
    }
    let name = format!("{parent} {}", command.get_name());
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string);
    writeln!(text, "\n### `{name}`\n\n{}", about.unwrap_or_default()).unwrap();
    if command.has_subcommands() {
        for command in command.get_subcommands() {
            command_flags(text, &name, command);
        }
        return;
    }
    text.push_str("\n| flag | default | |\n| --- | --- | --- |\n");
    for arg in command
        .get_arguments()
        .filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
    {
        let defaults: Vec<_> = arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        let default = if defaults.is_empty() || !arg.get_action().takes_values() {
            String::new()
        } else {
            format!("`{}`", defaults.join(","))
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "| `{}` | {default} | {} |", flag(arg), cell(&help)).unwrap();
    }
}

fn flag(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let long = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let values = values.map(|names| names.join(" ")).unwrap_or_default();
    let value = if values.is_empty() {
        values
    } else {
        format!(" {values}")
    };
    format!("{short}{long}{value}")
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace('\n', " ")
}
