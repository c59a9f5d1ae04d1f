//! Values as Go's `%v` prints them, which is how they appear in error messages.

use std::fmt;

use super::Value;
use crate::cel::go;

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A Null is an int32 in Go.
            Self::Null => f.write_str("0"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Uint(u) => write!(f, "{u}"),
            Self::Double(d) => f.write_str(&go::format_g(*d)),
            Self::String(text) => f.write_str(text.as_str()),
            Self::Bytes(bytes) => {
                f.write_str("[")?;
                for (i, byte) in bytes.iter().enumerate() {
                    write!(f, "{}{byte}", if i == 0 { "" } else { " " })?;
                }
                f.write_str("]")
            }
            Self::Duration(duration) => f.write_str(&duration.to_go_string()),
            Self::Timestamp(time) => f.write_str(&time.to_go_string()),
            Self::Type(name) => f.write_str(name),
            Self::List(list) => {
                f.write_str("[")?;
                for (i, item) in list.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    match item {
                        Ok(item) => write!(f, "{item}")?,
                        Err(error) => write!(f, "{error}")?,
                    }
                }
                f.write_str("]")
            }
            Self::Map(map) => {
                f.write_str("{")?;
                for (i, key) in map.keys().into_iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    match map.find(&key) {
                        Ok(Some(value)) => write!(f, "{key}: {value}")?,
                        Ok(None) => write!(f, "{key}: <nil>")?,
                        Err(error) => write!(f, "{key}: {error}")?,
                    }
                }
                f.write_str("}")
            }
            Self::Optional(None) => f.write_str("optional.none()"),
            Self::Optional(Some(value)) => write!(f, "optional({value})"),
            Self::Url(url) => write!(f, "{url}"),
            Self::Ip(ip) => write!(f, "{ip}"),
            Self::Cidr(cidr) => write!(f, "{cidr}"),
            Self::Quantity(quantity) => write!(f, "{quantity}"),
            Self::Semver(version) => write!(f, "{version}"),
            Self::Format(format) => f.write_str(format.name),
            // A message without fields is an empty text.
            Self::Empty => Ok(()),
            Self::Unknown(json) => write!(f, "{json:?}"),
        }
    }
}
