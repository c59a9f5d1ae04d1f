use clap::CommandFactory as _;

use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.command)
}

/// What `serve` cannot do without.
const LEAST: &str = "kcp-ephemeral serve --kubeconfig F --export-workspace root:platform \
    --external-url https://127.0.0.1:6443 --tls-cert-file F --tls-private-key-file F \
    --webhook-client-cert-file F --webhook-client-key-file F --webhook-client-ca-file F";

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_whole_invocation_of_serve_is_understood() {
    let line = format!(
        "{LEAST} --context C --bind-address 127.0.0.1 --secure-port 6444 \
         --shard-client-ca-file S --shard-client-names kcp-shard-0,kcp-shard-1 \
         --requestheader-client-ca-file R --requestheader-allowed-names kcp-front-proxy --client-ca-file U \
         --authorization-kubeconfig A --authorization-webhook-cache-authorized-ttl 1m \
         --authorization-webhook-cache-unauthorized-ttl 1s --authorization-binding-cache-ttl 500ms \
         --shard-selector region=eu,name!=root --publisher-name eu --manifests DIR \
         --webhook-allow-cidr 127.0.0.0/8 --webhook-allow-cidr 2k3=10.0.0.0/8 --webhook-deny-cidr 10.1.0.0/16 \
         --webhook-allow-port 9443 --webhook-allow-port 9444 --webhook-max-in-flight 64 \
         --max-requests-in-flight 100 --max-bytes-in-flight 16Mi --consumer-rate 5 --consumer-burst 10 \
         --log-level debug --log-format json"
    );
    let Ok(Command::Serve(args)) = parse(&line) else {
        panic!("{}", parse(&line).unwrap_err())
    };
    assert_eq!(args.clients.shard_client_names, ["kcp-shard-0", "kcp-shard-1"]);
    assert_eq!(args.clients.requestheader_allowed_names, ["kcp-front-proxy"]);
    assert_eq!(args.addresses.webhook_allow_cidr.len(), 2);
    assert_eq!(args.addresses.webhook_allow_cidr[1].cluster.as_deref(), Some("2k3"));
    assert_eq!(args.addresses.webhook_allow_port, [9443, 9444]);
    assert_eq!(args.limits.max_bytes_in_flight, Bytes(16 << 20));
    assert_eq!(args.publisher.publisher_name, "eu");
    assert_eq!(args.publisher.external_url.to_string(), "https://127.0.0.1:6443");
}

#[test]
fn what_is_not_said_has_its_default() {
    let Ok(Command::Serve(args)) = parse(&format!("{LEAST} --client-ca-file U")) else {
        panic!("not understood")
    };
    assert_eq!(
        (args.serving.secure_port, args.serving.bind_address.to_string().as_str()),
        (6443, "0.0.0.0")
    );
    assert_eq!(args.publisher.publisher_name, "kcp-ephemeral");
    assert_eq!(args.publisher.shard_selector, None);
    assert_eq!(args.limits.webhook_max_in_flight.get(), 8192);
    assert_eq!(args.limits.max_bytes_in_flight, Bytes(256 << 20));
    assert_eq!(
        (args.limits.consumer_rate.get(), args.limits.consumer_burst.get()),
        (100, 200)
    );
    let authorization = args.authorization;
    let seconds = [
        authorization.authorization_webhook_cache_authorized_ttl,
        authorization.authorization_webhook_cache_unauthorized_ttl,
        authorization.authorization_binding_cache_ttl,
    ]
    .map(|time| time.0.as_secs());
    assert_eq!(seconds, [10, 5, 30]);
}

#[test]
fn what_would_not_be_safe_or_make_sense_is_refused() {
    for (flags, word) in [
        ("", "--client-ca-file"),
        ("--shard-client-ca-file S", "--shard-client-names"),
        ("--client-ca-file U --shard-client-names a", "--shard-client-ca-file"),
        ("--requestheader-client-ca-file R", "--requestheader-allowed-names"),
        ("--client-ca-file U --external-url http://e", "--external-url"),
        ("--client-ca-file U --max-bytes-in-flight 1MB", "--max-bytes-in-flight"),
        ("--client-ca-file U --consumer-rate 0", "--consumer-rate"),
        ("--client-ca-file U --shard-selector a>b", "--shard-selector"),
    ] {
        let error = parse(&format!("{LEAST} {flags}")).unwrap_err().to_string();
        assert!(error.contains(word), "{flags}: {error}");
    }
    let mandatory = [
        "--webhook-client-cert-file F",
        "--webhook-client-key-file F",
        "--webhook-client-ca-file F",
    ];
    for flag in mandatory {
        let line = format!("{} --client-ca-file U", LEAST.replace(flag, ""));
        assert!(parse(&line).is_err(), "without {flag}");
    }
}

#[test]
fn every_form_of_manifests_is_understood() {
    for line in [
        "shard",
        "shard --user u",
        "platform",
        "platform --user u",
        "provider --export-path root:platform",
        "provider --export-path root:platform --rbac --user u",
        "nomination --export e --group g --resource r --url https://w.example.com/",
        "nomination --export e --group g --resource r --url https://w.example.com/ --ca-file F",
    ] {
        assert!(
            matches!(
                parse(&format!("kcp-ephemeral manifests {line}")),
                Ok(Command::Manifests(_))
            ),
            "{line}"
        );
    }
    for line in ["provider", "nomination --export e", "shard --user a/b"] {
        assert!(parse(&format!("kcp-ephemeral manifests {line}")).is_err(), "{line}");
    }
}
