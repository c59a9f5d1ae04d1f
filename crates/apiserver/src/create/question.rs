//! Step 4 of a create: from the body to a valid object, with the checks of kube-apiserver in its order
//! (`createHandler`, `schemaCoercingDecoder`, `rest.BeforeCreate`, the strategy of custom resources).

use std::sync::Arc;

use ephemeral_index::{NameValidation, ResourceSchema, Scope, Version};
use rand::Rng as _;
use structural_schema::field::{self, Path};
use structural_schema::json::{quote, settle_numbers};
use structural_schema::meta::{self, MetaOptions, NameRule};
use structural_schema::{Map, Schema, ValidateOptions, Value};

use super::decode::{self, DecodedObject};
use crate::fault::{ClientFault, Fault, Invalid};
use crate::negotiate::Media;
use crate::options::{CreateOptions, FieldValidation};

/// What path and query ask for.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The resource, as the consumer sees it.
    pub(crate) resource: Arc<ResourceSchema>,
    /// Which of its versions is in the path.
    pub(crate) version: Version,
    /// The schema of that version.
    pub(crate) schema: Arc<Schema>,
    /// The namespace in the path.
    pub(crate) namespace: Option<String>,
    /// The options in the query.
    pub(crate) options: CreateOptions,
}

/// The object that a webhook is asked about.
#[derive(Debug)]
pub(crate) struct Question {
    /// Pruned, defaulted and valid; without a status and without metadata that is the server's.
    pub(crate) object: Map,
    /// `metadata.name`, generated if need be; empty if the consumer gave none, since a question needs none.
    pub(crate) name: String,
}

impl Asked {
    /// `<group>/<version>` of the path.
    pub(crate) fn api_version(&self) -> String {
        format!("{}/{}", self.resource.group, self.version.name)
    }

    /// The kind of the resource.
    pub(crate) fn kind(&self) -> &str {
        &self.resource.names.kind
    }

    /// Reads the body of the request. What the client should know although the request goes on, or fails for another
    /// reason, is added to `warnings`.
    pub(crate) fn read(&self, media: Media, body: &[u8], warnings: &mut Vec<String>) -> Result<Question, Fault> {
        let expected = decode::Expected {
            kind: self.kind(),
            api_version: &self.api_version(),
            is_strict: self.options.field_validation != FieldValidation::Ignore,
        };
        let mut decoded = decode::decode(media, body, &expected)
            .map_err(|error| ClientFault::BadRequest(error.to_string().into()))?;
        self.coerce(&mut decoded)?;
        self.report_strict_errors(&decoded, warnings)?;
        if decoded.api_version != self.api_version() {
            return Err(bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                decoded.api_version,
                self.api_version()
            )));
        }
        let DecodedObject { mut object, kind, .. } = decoded;
        let is_ours = kind == self.kind();
        if is_ours {
            self.schema
                .apply_defaults(&mut object)
                .map_err(|_| ClientFault::BodyTooLarge)?;
        }
        let mut metadata = take_metadata(&mut object);
        meta::drop_server_managed(&mut metadata);
        self.place_in_namespace(&mut metadata)?;
        warnings.extend(meta::dedup_owner_references(&mut metadata));
        let name = name_of(&mut metadata);
        // A client cannot answer its own question.
        object.remove("status");
        let errors = if is_ours {
            let mut errors = meta::validate(&metadata, self.meta_options());
            object.insert("metadata", metadata);
            let options = self.validate_options().ignoring_required_status();
            self.schema.validate_after(&object, options, &mut errors);
            errors.into_vec()
        } else {
            // As `ValidateTypeMeta`, which ends the validation.
            let must = format!("must be {}", self.kind());
            vec![field::Error::invalid(&Path::root().child("kind"), &*kind, must)]
        };
        if !errors.is_empty() {
            let group = self.resource.group.to_string();
            return Err(ClientFault::Invalid(Box::new(Invalid {
                group,
                kind,
                name,
                errors,
            }))
            .into());
        }
        if let Some(Value::Object(metadata)) = object.get("metadata") {
            warnings.extend(meta::finalizer_warnings(metadata));
        }
        settle_numbers(&mut object);
        Ok(Question { object, name })
    }

    /// As `unstructuredSchemaCoercer.apply`: metadata is read as what it is, and unknown fields go. An object of
    /// another kind keeps its fields, to be refused for its kind; one of another version has no schema to be known by.
    fn coerce(&self, decoded: &mut DecodedObject) -> Result<(), Fault> {
        let (group, version) = decoded
            .api_version
            .split_once('/')
            .unwrap_or(("", &decoded.api_version));
        let is_ours = *group == *self.resource.group && decoded.kind == self.kind();
        let known = self
            .resource
            .versions
            .iter()
            .find(|known| is_ours && *known.name == *version);
        let coerced = match known {
            Some(Version { schema: Ok(schema), .. }) => {
                schema.coerce(&mut decoded.object).map_err(|error| error.to_string())
            }
            _ => meta::coerce(&mut decoded.object)
                .map_err(|error| error.to_string())
                .map(|mut unknown| {
                    if is_ours {
                        unknown.extend(prune_without_schema(&mut decoded.object));
                    }
                    unknown
                }),
        };
        let unknown = coerced.map_err(|error| cannot_be_handled(decoded, self.kind(), &error))?;
        decoded
            .strict
            .extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        Ok(())
    }

    fn report_strict_errors(&self, decoded: &DecodedObject, warnings: &mut Vec<String>) -> Result<(), Fault> {
        match self.options.field_validation {
            FieldValidation::Strict if !decoded.strict.is_empty() => {
                // By now the object has been converted, so that it is taken for what is expected.
                if version_of(decoded).is_empty() {
                    let missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
                    return Err(bad_request(missing.to_owned()));
                }
                let errors = format!("strict decoding error: {}", decoded.strict.join(", "));
                Err(cannot_be_handled(decoded, &decoded.kind, &errors))
            }
            FieldValidation::Warn => {
                warnings.extend(decoded.strict.iter().flat_map(|error| decode::warnings(error)));
                Ok(())
            }
            FieldValidation::Strict | FieldValidation::Ignore => Ok(()),
        }
    }

    /// As `EnsureObjectNamespaceMatchesRequestNamespace`.
    fn place_in_namespace(&self, metadata: &mut Map) -> Result<(), Fault> {
        match (
            &self.namespace,
            metadata.get("namespace").and_then(Value::as_str).unwrap_or_default(),
        ) {
            (Some(asked), given) if given == asked => {}
            (Some(asked), "") => _ = metadata.insert("namespace", asked.as_str()),
            (None, _) => _ = metadata.remove("namespace"),
            (Some(_), _) => {
                let mismatch = "the namespace of the provided object does not match the namespace sent on the request";
                return Err(ClientFault::BadRequest(mismatch.into()).into());
            }
        }
        Ok(())
    }

    /// How metadata of this resource is validated. A question needs no name.
    pub(crate) fn meta_options(&self) -> MetaOptions {
        let scope = match self.resource.scope {
            Scope::Namespaced => meta::Scope::Namespaced,
            Scope::Cluster => meta::Scope::Cluster,
        };
        MetaOptions::unnamed(scope).with_names(match self.resource.name_validation {
            NameValidation::Dns1123Subdomain => NameRule::DnsSubdomain,
            NameValidation::PathSegmentName => NameRule::PathSegment,
        })
    }

    /// How objects of this version are validated.
    pub(crate) fn validate_options(&self) -> ValidateOptions<'_> {
        ValidateOptions::default().with_scale(self.version.scale.as_ref())
    }
}

fn bad_request(message: String) -> Fault {
    ClientFault::BadRequest(message.into()).into()
}

/// As `transformDecodeError` words an error that came after the kind was known.
fn cannot_be_handled(decoded: &DecodedObject, kind: &str, error: &impl std::fmt::Display) -> Fault {
    let (version, found) = (quote(version_of(decoded)), &decoded.kind);
    bad_request(format!(
        "{found} in version {version} cannot be handled as a {kind}: {error}"
    ))
}

fn version_of(decoded: &DecodedObject) -> &str {
    decoded.api_version.rsplit('/').next().unwrap_or_default()
}

/// What pruning by no schema leaves: the fields that every object has.
fn prune_without_schema(object: &mut Map) -> Vec<String> {
    let mut unknown = Vec::new();
    object.retain(|key, _| {
        let known = matches!(key, "apiVersion" | "kind" | "metadata");
        if !known {
            unknown.push(key.to_owned());
        }
        known
    });
    unknown
}

/// Takes the metadata out of an object; without any, it is empty.
fn take_metadata(object: &mut Map) -> Map {
    match object.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    }
}

/// The name, made from `generateName` where there is none (`names.SimpleNameGenerator`).
fn name_of(metadata: &mut Map) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const MAX_BASE: usize = 58;
    let text = |key| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, base) = (text("name"), text("generateName"));
    if !name.is_empty() || base.is_empty() {
        return name.to_owned();
    }
    let mut random = rand::rng();
    let mut name = base[..base.floor_char_boundary(MAX_BASE)].to_owned();
    name.extend((0..5).map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())])));
    metadata.insert("name", name.as_str());
    name
}
