//! Named formats of Kubernetes: `library/format.go`.

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Call, FORMAT, Function, Overload, Pattern};
use super::super::value::Value;
use super::url;
use crate::format::Format;
use crate::meta;
use Pattern::{List, Optional, String};

/// A format by its name.
#[derive(Debug)]
pub struct NamedFormat {
    /// The name that is compared.
    pub name: &'static str,
    /// What is wrong with a text.
    check: fn(&str) -> Vec<std::string::String>,
    /// Length of the expression that Kubernetes checks with, for prices.
    pub(crate) max_regex_size: usize,
}

/// The formats by the names of their functions.
const FORMATS: &[(&str, NamedFormat)] = &[
    ("dns1123Label", format("DNS1123Label", meta::dns1123_label_faults, 30)),
    (
        "dns1123Subdomain",
        format("DNS1123Subdomain", meta::dns1123_subdomain_faults, 60),
    ),
    ("dns1035Label", format("DNS1035Label", meta::dns1035_label_faults, 30)),
    (
        "qualifiedName",
        format("QualifiedName", meta::qualified_name_faults, 60),
    ),
    (
        "dns1123LabelPrefix",
        format(
            "DNS1123LabelPrefix",
            |text| meta::dns1123_label_faults(&prefix(text)),
            30,
        ),
    ),
    (
        "dns1123SubdomainPrefix",
        format(
            "DNS1123SubdomainPrefix",
            |text| meta::dns1123_subdomain_faults(&prefix(text)),
            60,
        ),
    ),
    (
        "dns1035LabelPrefix",
        format(
            "DNS1035LabelPrefix",
            |text| meta::dns1035_label_faults(&prefix(text)),
            30,
        ),
    ),
    ("labelValue", format("LabelValue", meta::label_value_faults, 40)),
    (
        "uri",
        format(
            "URI",
            |text| url::Url::check_request_uri(text).err().into_iter().collect(),
            1103,
        ),
    ),
    (
        "uuid",
        format(
            "uuid",
            |text| known(Format::Uuid, text, "does not match the UUID format"),
            UUID_PATTERN,
        ),
    ),
    (
        "byte",
        format("byte", |text| known(Format::Byte, text, "invalid base64"), 84),
    ),
    (
        "date",
        format(
            "date",
            |text| known(Format::Date, text, "invalid date"),
            DATE_TIME_PATTERN,
        ),
    ),
    (
        "datetime",
        format(
            "datetime",
            |text| known(Format::DateTime, text, "invalid datetime"),
            DATE_TIME_PATTERN,
        ),
    ),
];

/// Length of strfmt's `UUIDPattern`.
const UUID_PATTERN: usize = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$".len();

/// Length of strfmt's `DateTimePattern`.
const DATE_TIME_PATTERN: usize = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$".len();

const fn format(name: &'static str, check: fn(&str) -> Vec<std::string::String>, max_regex_size: usize) -> NamedFormat {
    NamedFormat {
        name,
        check,
        max_regex_size,
    }
}

/// A text that more may follow: a trailing dash is as good as a letter (`maskTrailingDash`).
fn prefix(text: &str) -> std::string::String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => text.to_owned(),
    }
}

fn known(format: Format, text: &str, fault: &str) -> Vec<std::string::String> {
    if format.accepts(text) {
        Vec::new()
    } else {
        vec![fault.to_owned()]
    }
}

/// The format of a place in the table.
const fn constant<const PLACE: usize>() -> Call {
    |_, _| Ok(Value::Format(&FORMATS[PLACE].1))
}

/// The function that is a format.
macro_rules! constant {
    ($place:literal, $name:literal) => {
        Function::new($name, &[Overload::global($name, &[], FORMAT, constant::<$place>())])
    };
}

/// The format functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "validate",
        &[Overload::member(
            "format-validate",
            &[FORMAT, String],
            Optional(&List(&String)),
            validate,
        )],
    ),
    Function::new(
        "format.named",
        &[Overload::global("format-named", &[String], Optional(&FORMAT), named)],
    ),
    constant!(0, "format.dns1123Label"),
    constant!(1, "format.dns1123Subdomain"),
    constant!(2, "format.dns1035Label"),
    constant!(3, "format.qualifiedName"),
    constant!(4, "format.dns1123LabelPrefix"),
    constant!(5, "format.dns1123SubdomainPrefix"),
    constant!(6, "format.dns1035LabelPrefix"),
    constant!(7, "format.labelValue"),
    constant!(8, "format.uri"),
    constant!(9, "format.uuid"),
    constant!(10, "format.byte"),
    constant!(11, "format.date"),
    constant!(12, "format.datetime"),
];

fn validate<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let Value::Format(format) = &args[0] else {
        return Err(EvalError::no_such_overload());
    };
    let text = args[1].as_str()?;
    meter.read(text.len() * 8)?;
    let faults = (format.check)(text);
    Ok(if faults.is_empty() {
        Value::Optional(None)
    } else {
        Value::some(Value::strings(faults))
    })
}

fn named<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let name = args[0].as_str()?;
    Ok(match FORMATS.iter().find(|(known, _)| *known == name) {
        Some((_, format)) => Value::some(Value::Format(format)),
        None => Value::Optional(None),
    })
}
