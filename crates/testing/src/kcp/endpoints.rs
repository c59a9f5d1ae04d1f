//! Which endpoint of a slice a shard uses, and what URL becomes of it: kcp's `endpointslice.PickURL`, then Go's
//! `url.Parse` and `httputil.ReverseProxy`.
//!
//! Nothing here checks what a URL says: the shard does not either, and that is the point.

use std::collections::BTreeMap;

use serde_json::Value;

/// The labels of a shard.
pub(super) type Labels = BTreeMap<String, String>;

/// The URL that a shard with these labels uses, or the end of kcp's message.
///
/// Endpoints that say which shards they are for win over those that do not; of these the one with the most requirements
/// wins. `prefix` is the shard's own virtual-workspace URL, by which kcp's own entries are matched.
pub(super) fn pick(prefix: &str, labels: &Labels, endpoints: &[Value]) -> Result<String, String> {
    let urls: Vec<&str> = endpoints.iter().map(url).collect();
    let mut best: (i64, Vec<&str>) = (-1, Vec::new());
    let mut selective = false;
    for endpoint in endpoints {
        let match_all = endpoint["shards"]["matchAll"] == true;
        let selector = endpoint["shards"]
            .get("selector")
            .filter(|selector| !selector.is_null());
        let specificity = match selector {
            None if !match_all => continue,
            None => 0,
            Some(_) if match_all => {
                return Err(format!(
                    "endpoint {:?} sets both matchAll and selector, which are mutually exclusive",
                    url(endpoint)
                ));
            }
            Some(selector) => {
                let Some(specificity) = specificity(selector, labels) else {
                    selective = true;
                    continue;
                };
                specificity
            }
        };
        selective = true;
        if specificity > best.0 {
            best = (specificity, vec![url(endpoint)]);
        } else if specificity == best.0 {
            best.1.push(url(endpoint));
        }
    }
    let all = urls.join(" ");
    if !selective {
        return one_with_prefix(prefix, &urls);
    }
    match best.1.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(format!(
            "none of the endpoints [{all}] select a shard labelled {}",
            text(labels)
        )),
        several => Err(format!(
            "{} endpoints select a shard labelled {} equally well, out of [{all}]",
            several.len(),
            text(labels)
        )),
    }
}

fn one_with_prefix(prefix: &str, urls: &[&str]) -> Result<String, String> {
    let matches: Vec<_> = urls.iter().filter(|url| url.starts_with(prefix)).collect();
    let problem = match matches.as_slice() {
        [only] => return Ok((**only).to_owned()),
        [] => format!("no URLs match prefix {prefix:?}"),
        _ => format!("ambiguous URLs {matches:?} with prefix {prefix:?}"),
    };
    Err(format!(
        "{problem}: no endpoint says which shards it serves, so a URL is this shard's only if it starts with {prefix:?}; an \
         endpoint serving every shard should set shards.matchAll"
    ))
}

fn url(endpoint: &Value) -> &str {
    endpoint["url"].as_str().unwrap_or_default()
}

/// The number of requirements of a label selector that matches.
fn specificity(selector: &Value, labels: &Labels) -> Option<i64> {
    let mut requirements = 0;
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        requirements += 1;
        if labels.get(key).map(String::as_str) != value.as_str() {
            return None;
        }
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        requirements += 1;
        let label = expression["key"].as_str().and_then(|key| labels.get(key));
        let mut values = expression["values"].as_array().into_iter().flatten();
        let listed = label.is_some_and(|label| values.any(|value| value.as_str() == Some(label)));
        let matches = match expression["operator"].as_str()? {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            _ => return None,
        };
        if !matches {
            return None;
        }
    }
    Some(requirements)
}

/// As `labels.Set` prints itself.
fn text(labels: &Labels) -> String {
    let pairs: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Host and port.
    pub(super) authority: String,
    /// Path and query, as they are sent.
    pub(super) path_and_query: String,
}

/// Appends the logical cluster to an endpoint's URL as text, parses that, and joins the request's own path and query.
pub(super) fn target(endpoint: &str, cluster: &str, path_and_query: &str) -> Result<Target, String> {
    let text = format!("{endpoint}/clusters/{cluster}");
    let text = text.split_once('#').map_or(text.as_str(), |(before, _)| before);
    let rest = text
        .strip_prefix("https://")
        .ok_or_else(|| format!("unsupported protocol scheme in {text:?}"))?;
    let (rest, own_query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, base) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let base = escaped(base)?;
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let joined = match (base.ends_with('/'), path.starts_with('/')) {
        (true, true) => format!("{base}{}", &path[1..]),
        (false, false) => format!("{base}/{path}"),
        _ => format!("{base}{path}"),
    };
    let query = match (own_query.is_empty(), query.is_empty()) {
        (false, false) => format!("?{own_query}&{query}"),
        (true, true) => String::new(),
        _ => format!("?{own_query}{query}"),
    };
    Ok(Target {
        authority: authority.to_owned(),
        path_and_query: format!("{joined}{query}"),
    })
}

/// Go's `URL.EscapedPath`: a path that is validly encoded stays as it was written; of another, all that needs it is
/// encoded.
fn escaped(path: &str) -> Result<String, String> {
    let bytes = path.as_bytes();
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]/%".contains(&byte);
    for (at, _) in path.match_indices('%') {
        let digits = bytes.get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(format!("invalid URL escape in {path:?}"));
        }
    }
    let mut out = String::new();
    for &byte in bytes {
        if valid(byte) {
            out.push(char::from(byte));
        } else {
            out.extend([format!("%{byte:02X}")]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels() -> Labels {
        [("name", "root"), ("region", "eu")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn the_most_specific_endpoint_wins_and_ties_are_errors() {
        let all = json!({"url": "https://all", "shards": {"matchAll": true}});
        let eu = json!({"url": "https://eu", "shards": {"selector": {"matchLabels": {"region": "eu"}}}});
        let us = json!({"url": "https://us", "shards": {"selector": {"matchLabels": {"region": "us"}}}});
        let own = json!({"url": "https://shard/services/apiexport/x/y"});
        let other = json!({"url": "https://other/services/apiexport/x/y"});
        let both = json!({"url": "https://both", "shards": {"matchAll": true, "selector": {}}});
        let tie =
            "2 endpoints select a shard labelled name=root,region=eu equally well, out of [https://all https://all]";
        let cases = [
            (vec![&all], Ok("https://all")),
            (vec![&own, &all], Ok("https://all")),
            (vec![&all, &eu, &us], Ok("https://eu")),
            (
                vec![&us],
                Err("none of the endpoints [https://us] select a shard labelled name=root,region=eu"),
            ),
            (vec![&all, &all], Err(tie)),
            (vec![&own, &other], Ok("https://shard/services/apiexport/x/y")),
            (vec![&other], Err("no URLs match prefix \"https://shard\"")),
            (
                vec![&both],
                Err("endpoint \"https://both\" sets both matchAll and selector"),
            ),
        ];
        for (endpoints, expected) in cases {
            let endpoints: Vec<Value> = endpoints.into_iter().cloned().collect();
            let picked = pick("https://shard", &labels(), &endpoints);
            match expected {
                Ok(url) => assert_eq!(picked.as_deref(), Ok(url)),
                Err(words) => assert!(
                    picked.as_ref().is_err_and(|error| error.starts_with(words)),
                    "{picked:?}"
                ),
            }
        }
    }

    #[test]
    fn what_a_provider_wrote_is_what_is_sent() {
        let request = "/apis/g/v1/things?limit=5";
        let cases = [
            ("https://h:1/s", "/s/clusters/me/apis/g/v1/things?limit=5"),
            ("https://h:1/s/", "/s//clusters/me/apis/g/v1/things?limit=5"),
            (
                "https://h:1/s/clusters/VICTIM#",
                "/s/clusters/VICTIM/apis/g/v1/things?limit=5",
            ),
            (
                "https://h:1/s/clusters/VICTIM?x=",
                "/s/clusters/VICTIM/apis/g/v1/things?x=/clusters/me&limit=5",
            ),
            ("https://h:1/s/../t", "/s/../t/clusters/me/apis/g/v1/things?limit=5"),
            (
                "https://h:1/s/%2e%2e/t",
                "/s/%2e%2e/t/clusters/me/apis/g/v1/things?limit=5",
            ),
            ("https://h:1//s", "//s/clusters/me/apis/g/v1/things?limit=5"),
            ("https://h:1/a b", "/a%20b/clusters/me/apis/g/v1/things?limit=5"),
            ("https://h:1", "/clusters/me/apis/g/v1/things?limit=5"),
        ];
        for (endpoint, sent) in cases {
            let target = target(endpoint, "me", request).unwrap();
            assert_eq!(
                (target.authority.as_str(), target.path_and_query.as_str()),
                ("h:1", sent)
            );
        }
        assert!(target("https://h/%zz", "me", "/").is_err());
        assert!(target("http://h/", "me", "/").is_err());
    }
}
