//! Step 5 of a create: the review that the webhook is sent.

use bytes::Bytes;
use ephemeral_index::{Nomination, ReviewVersion as Nominated, SpecOwnership};
use ephemeral_review::{
    CreateOptions, Export, GroupVersionKind, GroupVersionResource, Request, ReviewRequest, ReviewVersion, UserInfo,
};
use serde_json::value::RawValue;
use structural_schema::json;
use uuid::Uuid;

use super::question::{Asked, Question};
use crate::options::FieldValidation;

/// What an answer is held against.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The uid of the review.
    pub(crate) uid: String,
    /// The version in which it was spoken.
    pub(crate) version: ReviewVersion,
    /// Whose spec the consumer gets back.
    pub(crate) spec_ownership: SpecOwnership,
}

impl Sent {
    /// Fixes what identifies one review.
    pub(crate) fn new(version: Nominated, spec_ownership: SpecOwnership) -> Self {
        let version = match version {
            Nominated::KcpV1alpha1 => ReviewVersion::ApisKcpIoV1Alpha1,
            Nominated::ContribV1alpha1 => ReviewVersion::EphemeralContribKcpIoV1Alpha1,
        };
        Self {
            uid: Uuid::new_v4().to_string(),
            version,
            spec_ownership,
        }
    }

    /// The review, as JSON.
    pub(crate) fn encode<W>(
        &self,
        asked: &Asked,
        question: &Question,
        nomination: &Nomination<W>,
        consumer: &str,
        user: &UserInfo,
    ) -> serde_json::Result<Bytes> {
        let resource = &asked.resource;
        // As Kubernetes' own encoder writes it: what is read back then is what would have been read from storage, where a
        // float that is whole becomes an integer.
        let mut object = Vec::new();
        json::encode_object(&question.object, &mut object);
        let object = RawValue::from_string(String::from_utf8(object).map_err(serde::ser::Error::custom)?)?;
        let request: Request<&RawValue, &UserInfo> = Request {
            uid: self.uid.clone(),
            cluster: consumer.to_owned(),
            export: Export::new(&*nomination.cluster, &*nomination.export),
            resource: GroupVersionResource {
                group: resource.group.to_string(),
                version: asked.version.name.to_string(),
                resource: resource.names.plural.to_string(),
            },
            kind: GroupVersionKind {
                group: resource.group.to_string(),
                version: asked.version.name.to_string(),
                kind: resource.names.kind.to_string(),
            },
            namespace: asked.namespace.clone().unwrap_or_default(),
            name: question.name.clone(),
            user_info: user,
            dry_run: asked.options.dry_run,
            options: options(asked),
            object: &object,
        };
        serde_json::to_vec(&ReviewRequest::new(self.version, request)).map(Bytes::from)
    }
}

fn options(asked: &Asked) -> CreateOptions {
    let mut options = CreateOptions::default();
    if asked.options.dry_run {
        options.dry_run.push("All".to_owned());
    }
    options.field_manager.clone_from(&asked.options.field_manager);
    if asked.options.field_validation != FieldValidation::default() {
        options.field_validation = asked.options.field_validation.as_str().into();
    }
    options
}
