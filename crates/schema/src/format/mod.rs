//! String formats: `k8s.io/kube-openapi/pkg/validation/strfmt`.
//!
//! A format that Kubernetes does not know is ignored, as it is there.

mod codes;
mod email;
mod names;
mod network;
mod time;
mod uri;

pub(crate) use time::parse_duration;

/// A format that strings are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    K8sLongName,
    K8sShortName,
    Mac,
    Password,
    RgbColor,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

impl Format {
    /// The format of a name; dashes do not count.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::K8sLongName,
            "k8sshortname" => Self::K8sShortName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// Whether a string is of this format.
    pub(crate) fn accepts(self, s: &str) -> bool {
        match self {
            Self::BsonObjectId => codes::is_bson_object_id(s),
            Self::Byte => codes::is_base64(s),
            Self::Cidr => network::is_cidr(s),
            Self::CreditCard => codes::is_credit_card(s),
            Self::Date => time::is_date(s),
            Self::DateTime => time::is_date_time(s),
            Self::Duration => parse_duration(s).is_ok(),
            Self::Email => email::is_email(s),
            Self::HexColor => codes::is_hex_color(s),
            Self::Hostname => names::is_hostname(s),
            Self::Ipv4 => network::is_ipv4(s),
            Self::Ipv6 => network::is_ipv6(s),
            Self::Isbn => codes::is_isbn10(s) || codes::is_isbn13(s),
            Self::Isbn10 => codes::is_isbn10(s),
            Self::Isbn13 => codes::is_isbn13(s),
            Self::K8sLongName => names::is_long_name(s),
            Self::K8sShortName => names::is_short_name(s),
            Self::Mac => network::is_mac(s),
            Self::Password => true,
            Self::RgbColor => codes::is_rgb_color(s),
            Self::Ssn => codes::is_ssn(s),
            Self::Uri => uri::is_request_uri(s),
            Self::Uuid => codes::is_uuid(s, None),
            Self::Uuid3 => codes::is_uuid(s, Some('3')),
            Self::Uuid4 => codes::is_uuid(s, Some('4')),
            Self::Uuid5 => codes::is_uuid(s, Some('5')),
        }
    }
}

pub(crate) use names::{is_label, is_subdomain};

#[cfg(test)]
mod tests {
    use super::*;

    /// A format, what it accepts and what it refuses.
    type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

    const CASES: &[Case] = &[
        (
            "bsonobjectid",
            &["507f1f77bcf86cd799439011"],
            &["", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
        ),
        ("byte", &["YQ==", "YWI=", "YWJj"], &["", "YQ", "YQ=", "Y-Q=", "YWJj\n"]),
        (
            "cidr",
            &["10.0.0.0/8", "010.0.0.0/08", "::/0", "fe80::1/64"],
            &["10.0.0.0", "10.0.0.0/33", "::/129", "a/8"],
        ),
        (
            "creditcard",
            &["4111-1111-1111-1111", "4111 1111 1111 1111"],
            &["4111111111111112", ""],
        ),
        (
            "date",
            &["2024-02-29", "0000-01-01"],
            &["2023-02-29", "2024-1-01", "2024-13-01", "2024-01-01T", "24-01-01"],
        ),
        (
            "date-time",
            &[
                "2024-01-01T00:00:00Z",
                "2024-01-01t23:59:59.1z",
                "2024-01-01T00:00:00x5+99:99",
                "2024-01-01T00:00:00Ztrest",
            ],
            &[
                "2024-01-01",
                "2024-01-01T24:00:00Z",
                "2024-01-01T00:00:60Z",
                "2024-01-01T00:00:00",
                "2024-02-30T00:00:00Z",
                "2024-01-01 00:00:00Z",
            ],
        ),
        (
            "duration",
            &[
                "1h", "0", "-1.5h", "1 day", "22 ns", "2 weeks", "1μs", "5minutes", "+.5s", "x 1 d y",
            ],
            &["", "1", "h", "1 lightyear", "99999999999999999999s"],
        ),
        (
            "email",
            &[
                "a@b",
                "a.b@c.d",
                "A <a@b>",
                "\"a b\"@c",
                "<a@b>",
                "a@[1.2.3.4]",
                "a@b (c)",
                "é@b",
                "a@é",
            ],
            &["", "a", "@b", "a@", "a@b, c@d", "a@b c", "a..b@c", "a@[1.2]", ".a@b"],
        ),
        ("hexcolor", &["#fff", "FFF", "#a1B2c3"], &["", "#ffff", "fffffg"]),
        (
            "hostname",
            &["a", "a.bc", "a-b.example.com", "日本.jp", "1.example"],
            &["", "a_b", "-a", "a.b.c1", "a..bc", "a."],
        ),
        (
            "ipv4",
            &["1.2.3.4", "01.02.03.004", "::ffff:1.2.3.4"],
            &["", "1.2.3", "1.2.3.256", "::1", "1.2.3.4.5"],
        ),
        (
            "ipv6",
            &["::", "::1", "fe80::1", "1:2:3:4:5:6:7:8", "::1.2.3.4"],
            &["", "1.2.3.4", ":::", "fe80::1%eth0", "12345::", "::01.2.3.4"],
        ),
        (
            "isbn",
            &["0-321-75104-3", "978-0321751041", "080442957X"],
            &["0321751044", ""],
        ),
        ("isbn10", &["0321751043"], &["978-0321751041"]),
        ("isbn13", &["978-0321751041"], &["0321751043"]),
        ("k8s-short-name", &["a", "a-b", "1"], &["", "A", "a.b", "-a", "a-"]),
        ("k8s-long-name", &["a", "a-b.c"], &["", "A", "a..b", ".a"]),
        (
            "mac",
            &[
                "00:00:5e:00:53:01",
                "02-00-5e-10-00-00-00-01",
                "0000.5e00.5301",
                "00005e005301",
                "00:00:5e:00:53:AF",
            ],
            &[
                "",
                "0:0:5e:0:53:1",
                "00:00:5e:00:53",
                "00:00:5e-00:53:01",
                "0000:5e00:5301",
            ],
        ),
        ("password", &["", "x"], &[]),
        (
            "rgbcolor",
            &["rgb(0,0,0)", "rgb( 255 , 199, 7 )"],
            &["rgb(256,0,0)", "rgb(0,0)", "rgba(0,0,0)"],
        ),
        ("ssn", &["111-22-3333", "111 22-3333"], &["111223333", "111-22-33333"]),
        (
            "uri",
            &[
                "http://a",
                "/a",
                "a:b",
                "http://[::1]:80/",
                "*",
                "http://a/%20",
                "//a",
                "http://a?b c",
            ],
            &[
                "",
                "a",
                "http://[::1",
                "http://a b",
                "http://a:b",
                ":a",
                "1a:b",
                "http://a/%zz",
                "http://a\u{7f}",
            ],
        ),
        (
            "uuid",
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "123E4567e89b12d3a456426614174000",
            ],
            &["", "123e4567-e89b-12d3-a456-42661417400"],
        ),
        (
            "uuid3",
            &["123e4567-e89b-32d3-a456-426614174000"],
            &["123e4567-e89b-42d3-a456-426614174000"],
        ),
        (
            "uuid4",
            &["123e4567-e89b-42d3-a456-426614174000"],
            &["123e4567-e89b-42d3-7456-426614174000"],
        ),
        (
            "uuid5",
            &["123e4567-e89b-52d3-b456-426614174000"],
            &["123e4567-e89b-42d3-b456-426614174000"],
        ),
    ];

    #[test]
    fn formats_accept_what_strfmt_accepts() {
        for (name, good, bad) in CASES {
            let format = Format::by_name(name).unwrap();
            for s in *good {
                assert!(format.accepts(s), "{name} refuses {s:?}");
            }
            for s in *bad {
                assert!(!format.accepts(s), "{name} accepts {s:?}");
            }
        }
        assert_eq!(Format::by_name("int32"), None);
    }
}
