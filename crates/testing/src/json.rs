//! Reading JSON without recursion, so that a test can handle what is nested as deep as the product allows.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The exact bytes of the value at `path`, a list of member names from the root; `None` if it is not there.
pub fn raw<'a>(json: &'a [u8], path: &[&str]) -> Option<&'a [u8]> {
    path.iter().try_fold(json, |object, name| member(object, name))
}

fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = token(object, b'{')?;
    loop {
        let (key, after) = value::<String>(rest)?;
        let start = token(after, b':')?;
        let (_, after) = value::<IgnoredAny>(start)?;
        if key == name {
            return Some(start[..start.len() - after.len()].trim_ascii());
        }
        rest = token(after, b',')?;
    }
}

fn token(json: &[u8], token: u8) -> Option<&[u8]> {
    json.trim_ascii_start().strip_prefix(&[token])
}

fn value<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<(T, &'a [u8])> {
    let mut stream = serde_json::Deserializer::from_slice(json).into_iter();
    let value = stream.next()?.ok()?;
    Some((value, &json[stream.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_member_are_found_as_they_stand() {
        let json = br#" { "a" : [1, {"b": 2}] , "b":{"c\u0064": 1.50 , "e":{ } } } "#;
        let cases: [(&[&str], Option<&str>); 6] = [
            (&["a"], Some(r#"[1, {"b": 2}]"#)),
            (&["b", "cd"], Some("1.50")),
            (&["b", "e"], Some("{ }")),
            (&["c"], None),
            (&["a", "b"], None),
            (&["b", "e", "f"], None),
        ];
        for (path, expected) in cases {
            assert_eq!(raw(json, path), expected.map(str::as_bytes), "{path:?}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let json = format!(r#"{{"x":1,"deep":{deep}}}"#);
        assert_eq!(raw(json.as_bytes(), &["deep"]), Some(deep.as_bytes()));
    }
}
