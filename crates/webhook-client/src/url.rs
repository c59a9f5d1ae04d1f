//! The URL of a webhook, parsed once into what resolving, TLS and HTTP need of it.

use std::net::IpAddr;

use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};
use rustls_pki_types::ServerName;
use url::{Host, Url};

/// Why a text is not the URL of a webhook.
#[derive(Debug, thiserror::Error)]
pub enum UrlInvalid {
    /// It does not begin with `https://`.
    #[error("it does not begin with https://")]
    NotHttps,
    /// It has a control character or a space in it, which URL parsers drop silently.
    #[error("it contains a control character or a space")]
    Characters,
    /// It has user information, which would end up in logs and on the wire.
    #[error("it has user information")]
    UserInfo,
    /// It has a fragment, which is never sent.
    #[error("it has a fragment")]
    Fragment,
    /// It is not a URL.
    #[error("it is not a URL")]
    Syntax(#[source] url::ParseError),
    /// Its host is not a name that a certificate could carry.
    #[error("its host is not a DNS name or IP address")]
    Host,
    /// Its path or query cannot be sent over HTTP.
    #[error("its path or query cannot be sent")]
    Path(#[source] http::Error),
}

/// Where a webhook is, by what its URL says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum WebhookHost {
    /// An IP address, however it was spelled.
    Address(IpAddr),
    /// `localhost` or a name below it: the loopback addresses, whatever a resolver says (RFC 6761).
    Localhost,
    /// A DNS name in lower case, without the trailing dot.
    Name(Box<str>),
}

impl WebhookHost {
    /// Parses a host as it stands in a URL.
    pub(crate) fn parse(text: &str) -> Result<Self, url::ParseError> {
        Host::parse(text).map(Self::from)
    }
}

impl<S: AsRef<str>> From<Host<S>> for WebhookHost {
    fn from(host: Host<S>) -> Self {
        let name = match &host {
            Host::Ipv4(address) => return Self::Address((*address).into()),
            Host::Ipv6(address) => return Self::Address((*address).into()),
            Host::Domain(name) => name.as_ref(),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        if name == "localhost" || name.ends_with(".localhost") {
            Self::Localhost
        } else {
            Self::Name(name.into())
        }
    }
}

/// A URL that a webhook may have. Whether it may be called is the address policy's to say.
#[derive(Clone, Debug)]
pub(crate) struct WebhookUrl {
    pub(crate) host: WebhookHost,
    pub(crate) port: u16,
    pub(crate) server_name: ServerName<'static>,
    /// As HTTP/2 wants it: with scheme and authority.
    pub(crate) absolute: Uri,
    /// As HTTP/1.1 wants it: path and query alone, and the `Host` header.
    pub(crate) origin: Uri,
    pub(crate) host_header: HeaderValue,
}

const SCHEME: &str = "https://";

impl WebhookUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, UrlInvalid> {
        refuse_what_a_parser_would_mend(text)?;
        let url = Url::parse(text).map_err(UrlInvalid::Syntax)?;
        if url.fragment().is_some() {
            return Err(UrlInvalid::Fragment);
        }
        let host = WebhookHost::from(url.host().ok_or(UrlInvalid::Host)?);
        // 443 is https' own.
        let port = url.port().unwrap_or(443);
        let server_name = match &host {
            WebhookHost::Address(address) => ServerName::from(*address),
            _ => ServerName::try_from(undotted(&url).to_owned()).map_err(|_| UrlInvalid::Host)?,
        };
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", undotted(&url)),
            None => undotted(&url).to_owned(),
        };
        let path = &url[url::Position::BeforePath..];
        let path: PathAndQuery = path
            .parse()
            .map_err(|error| UrlInvalid::Path(http::Error::from(error)))?;
        let absolute = Uri::builder()
            .scheme("https")
            .authority(authority.as_str())
            .path_and_query(path.clone())
            .build()
            .map_err(UrlInvalid::Path)?;
        Ok(Self {
            host,
            port,
            server_name,
            absolute,
            origin: Uri::from(path),
            host_header: HeaderValue::try_from(authority).map_err(|_| UrlInvalid::Host)?,
        })
    }
}

/// The WHATWG rules that `url` follows accept more than RFC 3986: they drop tabs and line breaks, add missing slashes
/// and forget empty user information. What the provider wrote is what is judged, so none of that passes.
fn refuse_what_a_parser_would_mend(text: &str) -> Result<(), UrlInvalid> {
    if text.chars().any(|c| c.is_control() || c == ' ') {
        return Err(UrlInvalid::Characters);
    }
    match text.split_at_checked(SCHEME.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            if authority.is_empty() {
                Err(UrlInvalid::Host)
            } else if authority.contains('@') {
                Err(UrlInvalid::UserInfo)
            } else {
                Ok(())
            }
        }
        _ => Err(UrlInvalid::NotHttps),
    }
}

/// The host without the dot that only a resolver needs: certificates and `Host` headers go without.
fn undotted(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(url: &str) -> WebhookHost {
        WebhookUrl::parse(url).unwrap().host
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for (spelling, address) in [
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("169.254.169.254.", "169.254.169.254"),
            ("2852039166", "169.254.169.254"),
            ("0", "0.0.0.0"),
            ("①②⑦.0.0.1", "127.0.0.1"),
            ("１２７。０。０。１", "127.0.0.1"),
            ("127%2e0%2e0%2e1", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[0:0:0:0:0:ffff:a9fe:a9fe]", "::ffff:169.254.169.254"),
            ("[::ffff:10.1.2.3]", "::ffff:10.1.2.3"),
        ] {
            let expected = WebhookHost::Address(address.parse().unwrap());
            assert_eq!(host(&format!("https://{spelling}/")), expected, "{spelling}");
        }
    }

    #[test]
    fn names_are_normalised() {
        for (spelling, expected) in [
            ("localhost", WebhookHost::Localhost),
            ("LOCALHOST", WebhookHost::Localhost),
            ("localhost.", WebhookHost::Localhost),
            ("a.localhost", WebhookHost::Localhost),
            ("ⓛocalhost", WebhookHost::Localhost),
            ("notlocalhost", WebhookHost::Name("notlocalhost".into())),
            ("Example.COM.", WebhookHost::Name("example.com".into())),
            ("example。com", WebhookHost::Name("example.com".into())),
            ("bücher.example", WebhookHost::Name("xn--bcher-kva.example".into())),
            ("webhook", WebhookHost::Name("webhook".into())),
        ] {
            assert_eq!(host(&format!("https://{spelling}/")), expected, "{spelling}");
        }
    }

    #[test]
    fn what_is_sent_has_no_trailing_dot_and_no_default_port() {
        for (url, authority, path) in [
            ("https://example.com", "example.com", "/"),
            ("https://example.com.:443/a?b=c", "example.com", "/a?b=c"),
            ("HTTPS://example.com:8443/a/../b", "example.com:8443", "/b"),
            (
                "https://[2606:4700:4700::1111]:8443/",
                "[2606:4700:4700::1111]:8443",
                "/",
            ),
            (
                "https://example.com/ü|{}\"?ü",
                "example.com",
                "/%C3%BC|%7B%7D%22?%C3%BC",
            ),
        ] {
            let parsed = WebhookUrl::parse(url).unwrap();
            assert_eq!(parsed.host_header, authority, "{url}");
            assert_eq!(parsed.origin.to_string(), path, "{url}");
            assert_eq!(
                parsed.absolute.to_string(),
                format!("https://{authority}{path}"),
                "{url}"
            );
        }
    }

    #[test]
    fn what_is_no_webhook_url_is_refused() {
        for (url, expected) in [
            ("", "NotHttps"),
            ("http://example.com/", "NotHttps"),
            ("https:example.com", "NotHttps"),
            ("https:/example.com", "NotHttps"),
            ("https:\\\\example.com", "NotHttps"),
            ("example.com", "NotHttps"),
            (" https://example.com/", "Characters"),
            ("https://exa\nmple.com/", "Characters"),
            ("https://example.com/a b", "Characters"),
            ("https://user@example.com/", "UserInfo"),
            ("https://user:password@example.com/", "UserInfo"),
            ("https://@example.com/", "UserInfo"),
            ("https://example.com/#", "Fragment"),
            ("https://example.com/#a", "Fragment"),
            ("https://", "Host"),
            ("https:///example.com", "Host"),
            ("https://./", "Host"),
            ("https://a..b/", "Host"),
            ("https://[fe80::1%25eth0]/", "Syntax"),
            ("https://[fe80::1%eth0]/", "Syntax"),
            ("https://[::1/", "Syntax"),
            ("https://256.1.1.1/", "Syntax"),
            ("https://1.2.3.4.5/", "Syntax"),
            ("https://example.com:99999/", "Syntax"),
            ("https://exa%00mple.com/", "Syntax"),
        ] {
            let error = WebhookUrl::parse(url).map(|url| url.absolute).unwrap_err();
            assert!(format!("{error:?}").starts_with(expected), "{url:?}: {error:?}");
        }
    }
}
