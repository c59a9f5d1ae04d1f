//! Defaulting (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`).

use crate::node::Node;
use crate::value::{Map, Value, deeper};

/// Removes `null` from fields that may not be null and have no default.
pub(crate) fn drop_nulls(node: &Node, map: &mut Map) {
    deeper(|| {
        map.retain(|key, value| {
            let Some(schema) = node.field(key) else {
                return true;
            };
            if value.is_null() {
                return schema.nullable || schema.default.is_some();
            }
            drop_nulls_within(schema, value);
            true
        });
    });
}

fn drop_nulls_within(node: &Node, value: &mut Value) {
    match (value, &node.items) {
        (Value::Object(map), _) => drop_nulls(node, map),
        (Value::Array(items), Some(schema)) => deeper(|| {
            for item in items.iter_mut() {
                drop_nulls_within(schema, item);
            }
        }),
        _ => {}
    }
}

/// Defaults would make an object larger than an object may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the defaults of the object take more than {DEFAULT_BYTES} bytes")]
pub struct DefaultsTooLarge;

/// Memory that the defaults filled into one object may take, bytes: a long list of empty items asks for its defaults as
/// often as it has items.
const DEFAULT_BYTES: usize = 64 << 20;

/// Fills in the defaults of fields that are not there, or are `null` and may not be.
pub(crate) fn apply_defaults(node: &Node, map: &mut Map) -> Result<(), DefaultsTooLarge> {
    let mut left = DEFAULT_BYTES;
    fields(node, map, &mut left)
}

fn fields(node: &Node, map: &mut Map, left: &mut usize) -> Result<(), DefaultsTooLarge> {
    if !node.within.defaults {
        return Ok(());
    }
    deeper(|| {
        let mut absent = Vec::new();
        for (name, schema) in &node.properties {
            let Some(default) = &schema.default else { continue };
            if map.get(name).is_none_or(|value| value.is_null() && !schema.nullable) {
                absent.push((name.clone(), copy(default, left)?));
            }
        }
        if !absent.is_empty() {
            // All at once: the map is sorted, and inserting one by one moves the rest each time.
            let mut all = std::mem::take(map).into_fields();
            all.extend(absent);
            *map = Map::from_fields(all);
        }
        for (key, value) in map.iter_mut() {
            match node.property(key) {
                Some(schema) => within(schema, value, left)?,
                None => {
                    if let Some(schema) = node.additional.schema() {
                        element(schema, value, left)?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// A value of a map or list: `null` is replaced, since it is there.
fn element(schema: &Node, value: &mut Value, left: &mut usize) -> Result<(), DefaultsTooLarge> {
    if let Some(default) = schema.default.as_ref().filter(|_| value.is_null() && !schema.nullable) {
        *value = copy(default, left)?;
    }
    within(schema, value, left)
}

fn within(node: &Node, value: &mut Value, left: &mut usize) -> Result<(), DefaultsTooLarge> {
    match (value, &node.items) {
        (Value::Object(map), _) => fields(node, map, left),
        (Value::Array(items), Some(schema)) if node.within.defaults => {
            deeper(|| items.iter_mut().try_for_each(|item| element(schema, item, left)))
        }
        _ => Ok(()),
    }
}

fn copy(default: &Value, left: &mut usize) -> Result<Value, DefaultsTooLarge> {
    *left = left.checked_sub(default.memory()).ok_or(DefaultsTooLarge)?;
    Ok(default.clone())
}
