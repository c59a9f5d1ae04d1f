//! An object or list in the form that the client asked for: `transformResponseObject`.

use ephemeral_index::{ResourceSchema, Version};
use http::{Response, StatusCode};
use jiff::Timestamp;
use structural_schema::Value;

use crate::fault::{ClientFault, Fault, ProviderFault};
use crate::negotiate::{Output, Transform};
use crate::respond::{Body, Responder};
use crate::table::{Columns, IncludeObject};
use crate::{list, partial};

/// Answers with an object, such as one that was created.
///
/// One with a list `items` cannot be answered with: `transformResponseObject` takes it for a list of objects, and then
/// fails to find the Go field of one. Clients would too: to `UnstructuredJSONScheme` such a body is a list.
pub(crate) fn object(
    responder: &Responder,
    code: StatusCode,
    object: &Value,
    version: &Version,
    output: Output,
    include: IncludeObject,
) -> Result<Response<Body>, Fault> {
    if object.get("items").is_some_and(|items| items.as_array().is_some()) {
        return Err(ProviderFault::LikeAList.into());
    }
    let document = match output.target {
        None => return Ok(responder.object(code, object, output.form)),
        Some(Transform::Table(meta)) => Columns::new(version).of_object(object, include, meta, Timestamp::now()),
        Some(Transform::PartialObjectMetadata(meta)) => partial::PartialObject::of(object, meta).document(),
        Some(Transform::PartialObjectMetadataList(_)) => return Err(ClientFault::NotAList.into()),
    };
    Ok(responder.document(code, &document, output.form))
}

/// Answers with the list of all objects of a resource: none are ever stored.
pub(crate) fn empty_list(
    responder: &Responder,
    schema: &ResourceSchema,
    version: &Version,
    output: Output,
) -> Result<Response<Body>, Fault> {
    let document = match output.target {
        None => return Ok(responder.object(StatusCode::OK, &list::empty(schema, version), output.form)),
        Some(Transform::Table(meta)) => Columns::new(version).of_nothing(meta),
        Some(Transform::PartialObjectMetadataList(meta)) => partial::empty_list(meta),
        Some(Transform::PartialObjectMetadata(_)) => return Err(ClientFault::NotAnObject.into()),
    };
    Ok(responder.document(StatusCode::OK, &document, output.form))
}
