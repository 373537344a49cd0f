//! The JSON schema of policies, made of the definitions that the readers use.
//!
//! A policy that [`parse`](crate::parse) accepts is valid by the schema, except for fractions that
//! are rounded into a range. Not the other way round: whether the parts are consistent is beyond it. Draft 7 is the one that TOML editors take, and all
//! is in one tree, since they show descriptions beside a `$ref` badly.

use serde_json::{Map, Value, json};

use crate::format_duration;
use crate::read::FILE;
use crate::read::keys::{Key, Schema, Takes, Without};
use crate::value::{device, duration, exact};

/// The JSON schema of a policy, for editors.
pub fn json_schema() -> Value {
    titled("Takt policy", &FILE)
}

pub(crate) fn titled(title: &str, file: &Schema) -> Value {
    let mut schema = table(file);
    schema.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    schema.insert("title".into(), title.into());
    Value::Object(schema)
}

fn table(schema: &Schema) -> Map<String, Value> {
    let properties: Map<String, Value> = schema
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), Value::Object(property(key))))
        .collect();
    let required: Vec<&str> = schema
        .keys
        .iter()
        .filter(|key| matches!(key.without, Without::Error))
        .map(|key| key.name)
        .collect();
    let mut table = Map::new();
    table.insert("type".into(), "object".into());
    table.insert("description".into(), schema.doc.into());
    table.insert("additionalProperties".into(), false.into());
    table.insert("properties".into(), properties.into());
    if !required.is_empty() {
        table.insert("required".into(), required.into());
    }
    table
}

fn property(key: &Key) -> Map<String, Value> {
    let mut value = match &key.takes {
        Takes::Boolean => json!({"type": "boolean"}),
        Takes::Integer(range) => {
            json!({"type": "integer", "minimum": range.start(), "maximum": range.end()})
        }
        Takes::Duration(_) => duration::schema(),
        Takes::Exact(_) => exact::schema(),
        Takes::Number(range, of) => json!({
            "type": "number",
            "minimum": *range.start() as f64 / *of as f64,
            "maximum": *range.end() as f64 / *of as f64,
        }),
        Takes::Word(words) => json!({"enum": words}),
        Takes::Spelled(schema) => schema(),
        Takes::Table(schema) => Value::Object(table(schema)),
        Takes::Tables(schema) => json!({"type": "array", "items": table(schema)}),
        Takes::OneOrMore(schema) => json!({"anyOf": [
            table(schema),
            {"type": "array", "minItems": 1, "items": table(schema)},
        ]}),
        Takes::PerDevice(schema) => json!({
            "type": "object",
            "propertyNames": device::schema(),
            "additionalProperties": table(schema),
        }),
    };
    let mut property = value
        .as_object_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    if let Without::Default(default) = key.without {
        property.insert(
            "default".into(),
            serde_json::from_str(default).unwrap_or_default(),
        );
    }
    property.insert("description".into(), description(key).into());
    property
}

/// The line about the key, its range if the schema cannot say it, and its default: editors show
/// just this.
pub(crate) fn description(key: &Key) -> String {
    let range = match &key.takes {
        Takes::Duration(range) | Takes::Exact(range) => format!(
            "; \"{}\" to \"{}\"",
            format_duration(*range.start()),
            format_duration(*range.end())
        ),
        _ => String::new(),
    };
    let without = match key.without {
        Without::Error => "; required".to_owned(),
        Without::Default(default) => format!("; default {default}"),
        Without::Other => String::new(),
    };
    format!("{}{range}{without}", key.doc)
}
