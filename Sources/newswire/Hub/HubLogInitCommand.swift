import ArgumentParser
import Certificates
import Foundation
import HostSystem
import HubServer
import NetworkAddresses
import Settings

struct HubLogInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract:
            "Write configurations and certificates for hubs on several machines, and for the servers of their log.",
        discussion: """
            Each machine runs a hub and a log server, and gets a folder: 'nats-server.conf' and 'nats' for the log server, \
            'newswire.yaml', 'log', 'state' and a drop-in for the hub, and 'install.sh', which puts all of them in place. \
            The certificates of the log are of an authority of their own, whose key stays beside the folders, and is in \
            that of the first machine: it signs certificates of machines that come later ('newswire hub invite --node').

            The folders contain the keys of all hubs: protect them, and remove them after the installation.

            EXAMPLES
              newswire hub log init a.example.org b.example.org c.example.org --out cluster
            """
    )

    private static let machines = [3, 5]

    @Argument(
        help: ArgumentHelp("The machines, by names or addresses at which they reach each other.", valueName: "host")
    )
    var hosts: [String]

    @Option(help: ArgumentHelp("The address of the load balancer, as clients type it.", valueName: "URL"))
    var publicAddress: String?

    @Option(
        help: ArgumentHelp("The folder to write, which must not exist.", valueName: "folder"),
        completion: .directory
    )
    var out: String

    func validate() throws {
        guard Self.machines.contains(hosts.count) else {
            throw ValidationError(
                "pass 3 or 5 machines: the log needs a majority of its servers, so that with 4 it bears no more losses than with 3"
            )
        }
        let names = try names()
        guard Set(names).count == names.count else { throw ValidationError("each machine must be named once") }
        if let publicAddress, Self.authority(publicAddress) == nil {
            throw ValidationError("--public-address must be such as https://news.example.org")
        }
    }

    func run() async throws {
        guard !HostFile.exists(out) else {
            throw Failure(.usage, "'\(out)' exists already", hint: "its keys may be in use: name another folder")
        }
        let (names, now) = (try names(), Date())
        let authority = try CertificateAuthority(host: "\(names[0])", of: "log authority", now: now)
        let address = publicAddress.flatMap(Self.authority)
        let common = HubsInCommon(
            authority: try CertificateAuthority(host: "\(address?.hostName ?? names[0])", now: now),
            secrets: SecretsFile.new()
        )
        let machines = names.enumerated().map { LogMachine(host: $1, name: Self.letter($0), all: names) }
        var files: [HostFile.Content] = [
            .init(path: "\(out)/ca.crt", text: authority.certificateText, permissions: 0o644),
            .init(path: "\(out)/ca.key", text: authority.keyText, permissions: 0o600),
        ]
        for machine in machines {
            let folder = "\(out)/\(machine.host)"
            files += try machine.files(authority, common, address, now).map { file in
                .init(path: "\(folder)/\(file.path)", text: file.text, permissions: file.permissions)
            }
        }
        do {
            for folder in Set(files.map { URL(filePath: $0.path).deletingLastPathComponent().path }).sorted() {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            }
            try HostFile.replace(files)
        } catch {
            // Half of the keys are of no use, and another attempt would find the folder.
            try? FileManager.default.removeItem(atPath: out)
            throw error
        }
        for machine in machines { Console.print("\(out)/\(machine.host)") }
        Console.notice(
            "copy each folder to its machine, run its install.sh there as root, and keep '\(out)/ca.key' elsewhere"
        )
    }

    private func names() throws -> [HostName] {
        try hosts.map { text in
            guard let name = HostName(text) else { throw ValidationError("'\(text)' is not a name or an address") }
            return name
        }
    }

    private static func authority(_ address: String) -> Authority? {
        let prefix = "https://"
        guard address.hasPrefix(prefix) else { return nil }
        let rest = address.dropFirst(prefix.count)
        return Authority(rest.hasSuffix("/") ? rest.dropLast() : rest)
    }

    private static func letter(_ index: Int) -> String { String(UnicodeScalar(UInt8(ascii: "a") + UInt8(index))) }
}

/// The keys that all hubs of a log have in common.
private struct HubsInCommon {
    /// Clients trust it.
    let authority: CertificateAuthority
    /// The text of `secrets.key`.
    let secrets: String
}

/// A machine with a hub and a log server.
private struct LogMachine {
    let host: HostName
    /// The hub's name in the log.
    let name: String
    let all: [HostName]

    private static let port = 4_222
    private static let routes = 6_222

    /// The files of the machine, with paths below its folder.
    func files(
        _ authority: CertificateAuthority,
        _ common: HubsInCommon,
        _ publicAddress: Authority?,
        _ now: Date
    ) throws -> [HostFile.Content] {
        let server = try authority.issue(for: [host], usages: .both, now: now)
        let hub = try authority.issue(for: [host], usages: .both, now: now)
        return [
            .init(path: "nats-server.conf", text: serverConfiguration, permissions: 0o644),
            .init(path: "nats/ca.crt", text: authority.certificateText, permissions: 0o644),
            .init(path: "nats/log.crt", text: server.chain, permissions: 0o644),
            .init(path: "nats/log.key", text: server.privateKey, permissions: 0o600),
            .init(path: "newswire.yaml", text: hubConfiguration(publicAddress), permissions: 0o644),
            .init(path: "log/ca.crt", text: authority.certificateText, permissions: 0o644),
            .init(path: "log/hub.crt", text: hub.chain, permissions: 0o644),
            .init(path: "log/hub.key", text: hub.privateKey, permissions: 0o600),
            .init(path: "newswire-hub.service.d/log.conf", text: Self.dropIn, permissions: 0o644),
            .init(path: "state/\(HubFiles.secrets)", text: common.secrets, permissions: 0o600),
            .init(
                path: "state/\(LocalCertificates.authorityName)",
                text: common.authority.certificateText,
                permissions: 0o644
            ),
            .init(
                path: "state/\(LocalCertificates.authorityKeyName)",
                text: common.authority.keyText,
                permissions: 0o600
            ),
            .init(path: "install.sh", text: Self.script, permissions: 0o755),
        ] + (isFirst ? [.init(path: "log/ca.key", text: authority.keyText, permissions: 0o600)] : [])
    }

    /// It signs certificates for the log of machines that come later.
    private var isFirst: Bool { host == all[0] }

    private static let script = """
        #!/bin/sh
        # Puts the files of this folder in place on their machine, and starts its log server and its hub; run it as root.
        # Written by 'newswire hub log init'.
        set -e
        cd "$(dirname "$0")"
        hub=/var/lib/newswire/hub
        refuse() { echo "$1; nothing was changed" >&2; exit 1; }
        [ ! -e "$hub/hub.sqlite" ] || refuse "this machine has a hub already"
        for file in state/*; do
            there="$hub/${file#state/}"
            [ ! -e "$there" ] || cmp -s "$file" "$there" || refuse "'$there' is of another hub"
        done
        there=/etc/newswire/newswire.yaml
        [ ! -e "$there" ] || cmp -s newswire.yaml "$there" || refuse "'$there' has other settings: move it away"
        for user in nats newswire-hub; do
            id "$user" >/dev/null 2>&1 || refuse "there is no user '$user': install nats-server and newswire first"
        done

        install -d -m 700 -o nats -g nats /var/lib/nats
        install -D -m 644 -t /etc/nats nats/*.crt
        install -m 600 -o nats -g nats -t /etc/nats nats/*.key
        install --backup=numbered -m 644 -t /etc nats-server.conf
        # Versions before 2.10 refuse 'sync_interval'.
        nats-server -t -c /etc/nats-server.conf

        install -D -m 644 -t /etc/newswire/log log/*.crt
        install -m 600 -o newswire-hub -g newswire-hub -t /etc/newswire/log log/hub.key
        # It signs certificates for the log: the hub itself does not need it.
        [ ! -e log/ca.key ] || install -m 600 -t /etc/newswire/log log/ca.key
        install -m 644 -t /etc/newswire newswire.yaml
        install -D -m 644 -t /etc/systemd/system/newswire-hub.service.d newswire-hub.service.d/log.conf
        install -d -m 755 /var/lib/newswire
        install -d -m 700 -o newswire-hub -g newswire-hub "$hub"
        install -m 600 -o newswire-hub -g newswire-hub -t "$hub" state/*

        systemctl daemon-reload
        systemctl enable nats-server newswire-hub
        systemctl restart nats-server
        # It waits for the log, which needs the majority of its servers.
        systemctl restart --no-block newswire-hub

        """

    /// A port of the machine: on its address, or on all of them if only a name is known.
    private func listen(_ port: Int) -> String {
        if case .address = host { "\(Authority(host, port: port))" } else { "0.0.0.0:\(port)" }
    }

    /// Routes need certificates for both ends, and clients one of the same authority.
    private var serverConfiguration: String {
        """
        # A server of the log of newswire's hubs, written by 'newswire hub log init'. NATS 2.10 or later.
        server_name: log-\(name)
        listen: "\(listen(Self.port))"
        max_payload: 8MB
        jetstream {
            store_dir: /var/lib/nats
            # The log has up to 4 GiB, and needs room beside it when it drops its oldest part.
            max_file_store: 6GB
            # Without it a power cut of all machines loses the last acknowledged changes.
            sync_interval: always
        }
        tls {
            cert_file: /etc/nats/log.crt
            key_file: /etc/nats/log.key
            ca_file: /etc/nats/ca.crt
            verify: true
        }
        cluster {
            name: newswire
            listen: "\(listen(Self.routes))"
            routes: [\(all.map { "\"tls://\(Authority($0, port: Self.routes))\"" }.joined(separator: ", "))]
            tls {
                cert_file: /etc/nats/log.crt
                key_file: /etc/nats/log.key
                ca_file: /etc/nats/ca.crt
                verify: true
            }
        }

        """
    }

    private func hubConfiguration(_ publicAddress: Authority?) -> String {
        let address = publicAddress.map {
            "  host-names: [\($0.hostName.map { "\($0)" } ?? "")]\n  public-address: https://\($0)   # the load balancer's\n"
        }
        return """
            # A hub that shares a log with others, written by 'newswire hub log init'.
            hub:
              listen: \(isIPv6 ? "\"::\"" : "0.0.0.0")
            \(address ?? "  # public-address: https://news.example.org\n")\
              log:
                servers: [\(all.map { "\"tls://\(Authority($0, port: Self.port))\"" }.joined(separator: ", "))]
                ca: /etc/newswire/log/ca.crt
                certificate: /etc/newswire/log/hub.crt
                key: /etc/newswire/log/hub.key
                node: \(name)
                replicas: \(all.count)

            """
    }

    private var isIPv6: Bool { if case .address(let address) = host { address.bytes.count == 16 } else { false } }

    /// Clients, balancers and other hubs reach the hub, and it reaches the log's servers.
    private static let dropIn = """
        # A hub of several: narrower addresses than 'any' must include clients, balancers, and the other machines.
        [Service]
        IPAddressAllow=any

        """
}
