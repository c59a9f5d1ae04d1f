//! `metav1.Status`, the body of every answer that is an error.

use std::borrow::Cow;

use structural_schema::{Map, Value, field, json};

/// An error as Kubernetes clients read it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// A word that clients branch on; empty where Kubernetes sends none.
    pub reason: Cow<'static, str>,
    /// For people.
    pub message: String,
    /// What the error is about; `Some` of an empty value is sent as `{}`.
    pub details: Option<Details>,
}

/// `metav1.StatusDetails`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// API group of the resource.
    pub group: String,
    /// Kind or resource, as Kubernetes fills it for the reason at hand.
    pub kind: String,
    /// UID of the object.
    pub uid: String,
    /// One entry per field error.
    pub causes: Vec<Cause>,
    /// Seconds after which a repetition makes sense, sent as `Retry-After` too.
    pub retry_after_seconds: Option<u32>,
}

/// `metav1.StatusCause`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Cause {
    /// A word such as `FieldValueInvalid`.
    pub reason: Cow<'static, str>,
    /// The error without its field.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

impl From<&field::Error> for Cause {
    fn from(error: &field::Error) -> Self {
        Self {
            reason: error.kind.reason().into(),
            message: error.body(),
            field: error.field.clone(),
        }
    }
}

impl Status {
    /// A failure without details.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
        }
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(details);
        self
    }

    /// Seconds for the `Retry-After` header.
    pub fn retry_after(&self) -> Option<u32> {
        self.details.as_ref().and_then(|details| details.retry_after_seconds)
    }

    /// The JSON that Kubernetes sends: fields in the order of Go's struct, empty ones left out, no line end.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        let mut out = Object::begin(&mut json);
        out.field("kind", &"Status".into());
        out.field("apiVersion", &"v1".into());
        out.field("metadata", &Map::new().into());
        out.field("status", &"Failure".into());
        out.text("message", &self.message);
        out.text("reason", &self.reason);
        if let Some(details) = &self.details {
            details.write_json(out.key("details"));
        }
        out.field("code", &Value::Int(self.code.into()));
        out.end();
        json
    }

    /// The same as an object, for encodings that sort keys.
    pub fn to_value(&self) -> Value {
        json::decode(&self.to_json())
            .map(|decoded| decoded.value)
            .unwrap_or_default()
    }
}

impl Details {
    fn write_json(&self, json: &mut Vec<u8>) {
        let mut out = Object::begin(json);
        out.text("name", &self.name);
        out.text("group", &self.group);
        out.text("kind", &self.kind);
        out.text("uid", &self.uid);
        for (i, cause) in self.causes.iter().enumerate() {
            let json = if i == 0 { out.key("causes") } else { &mut *out.json };
            json.push(if i == 0 { b'[' } else { b',' });
            cause.write_json(json);
        }
        if !self.causes.is_empty() {
            out.json.push(b']');
        }
        if let Some(seconds) = self.retry_after_seconds {
            out.field("retryAfterSeconds", &Value::Int(seconds.into()));
        }
        out.end();
    }
}

impl Cause {
    fn write_json(&self, json: &mut Vec<u8>) {
        let mut out = Object::begin(json);
        out.text("reason", &self.reason);
        out.text("message", &self.message);
        out.text("field", &self.field);
        out.end();
    }
}

/// Writes a JSON object whose fields keep their order. All goes into one text, since causes may be megabytes.
struct Object<'a> {
    json: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Object<'a> {
    fn begin(json: &'a mut Vec<u8>) -> Self {
        json.push(b'{');
        Self { json, is_empty: true }
    }

    /// Where the value of a field goes.
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.json.push(b',');
        }
        json::encode(&key.into(), self.json);
        self.json.push(b':');
        self.json
    }

    fn field(&mut self, key: &str, value: &Value) {
        json::encode(value, self.key(key));
    }

    /// A string that is left out when empty (`omitempty`).
    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.field(key, &text.into());
        }
    }

    fn end(self) {
        self.json.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(details: &Details) -> String {
        let mut json = Vec::new();
        details.write_json(&mut json);
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn fields_come_in_the_order_of_the_go_struct() {
        let status = Status::new(405, "MethodNotAllowed", "no").with_details(Details::default());
        assert_eq!(
            String::from_utf8(status.to_json()).unwrap(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"MethodNotAllowed","details":{},"code":405}"#
        );
    }

    #[test]
    fn details_leave_out_what_is_empty() {
        let cause = Cause {
            reason: "FieldValueRequired".into(),
            message: "Required value".into(),
            field: "spec".into(),
        };
        let details = Details {
            kind: "Tm".into(),
            causes: vec![cause],
            ..Details::default()
        };
        assert_eq!(
            json_of(&details),
            r#"{"kind":"Tm","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec"}]}"#
        );
    }
}
