//! Metadata of resources within resources, read as `ObjectMeta` (`objectmeta.CoerceWithOptions` of the apiextensions API
//! server).

use crate::field::{Error, Path};
use crate::meta;
use crate::node::Node;
use crate::unknown::Unknown;
use crate::value::{Map, Value, deeper};

/// Reads the metadata of all embedded resources, which is left as `ObjectMeta` encodes it, and returns the paths of the
/// fields that it does not know, sorted.
pub(crate) fn coerce(root: &Node, object: &mut Map) -> Result<Vec<String>, Error> {
    let mut unknown = Unknown::default();
    fields(root, object, &Path::root(), &mut unknown)?;
    Ok(unknown.into_sorted())
}

/// The same for a part of an object; unknown fields are not told.
pub(crate) fn coerce_value(node: &Node, value: &mut Value, path: &Path<'_>) -> Result<(), Error> {
    visit(node, value, path, &mut Unknown::default())
}

fn visit(node: &Node, value: &mut Value, path: &Path<'_>, unknown: &mut Unknown) -> Result<(), Error> {
    match (value, &node.items) {
        (Value::Object(map), _) => fields(node, map, path, unknown),
        (Value::Array(items), Some(schema)) if node.within.embedded_resources => deeper(|| {
            for (i, item) in items.iter_mut().enumerate() {
                visit(schema, item, &path.index(i), unknown)?;
            }
            Ok(())
        }),
        _ => Ok(()),
    }
}

fn fields(node: &Node, map: &mut Map, path: &Path<'_>, unknown: &mut Unknown) -> Result<(), Error> {
    if !node.within.embedded_resources {
        return Ok(());
    }
    deeper(|| {
        for (key, field) in map.iter_mut() {
            if node.embedded_resource {
                own_field(key, field, path, unknown)?;
            }
            match node.property(key) {
                Some(schema) => visit(schema, field, &path.child(key), unknown)?,
                None => {
                    if let Some(schema) = node.additional.schema() {
                        visit(schema, field, &path.key(key), unknown)?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// A field that every resource has.
fn own_field(key: &str, field: &mut Value, path: &Path<'_>, unknown: &mut Unknown) -> Result<(), Error> {
    match key {
        "apiVersion" | "kind" if field.as_str().is_none() => {
            Err(Error::invalid(&path.child(key), field.clone(), "must be a string"))
        }
        "metadata" => {
            let path = path.child("metadata");
            let decoded = meta::decode(field);
            let (decoded, fields) = decoded.map_err(|error| Error::invalid(&path, field.clone(), error.to_string()))?;
            for name in fields {
                unknown.record(|| format!("{path}.{name}"));
            }
            *field = Value::Object(decoded);
            Ok(())
        }
        _ => Ok(()),
    }
}
