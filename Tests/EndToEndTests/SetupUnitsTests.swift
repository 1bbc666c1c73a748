import Certificates
import Foundation
import Glibc
import HostSystem
import HubTestServer
import NetworkAddresses
import Testing

/// A machine with an '/etc' of the test's own, which a command sees in a mount namespace that ends with it.
private struct Machine {
    static let user = "4242"
    /// The hub's, with a group of its own and another one.
    static let service = (user: gid_t(4_300), certificates: gid_t(4_301))

    let scratch: ScratchFolder
    var home: String { file("home") }

    static func isAvailable() async throws -> Bool {
        guard geteuid() == 0 else { return false }
        let probe = ChildProcess(
            arguments: ["unshare", "--mount", "sh", "-c", "mount --bind /mnt /etc && command -v setpriv"],
            environment: BuiltProgram.base,
            timeout: WaitLimit.duration
        )
        return try await probe.run().isSuccess
    }

    /// `systemFile` is the text of '/etc/newswire/newswire.yaml', if there is one.
    init(systemFile: String? = nil) throws {
        scratch = try ScratchFolder()
        let folders = [
            "etc/newswire/feeds", "etc/systemd/system", "etc/tls", "etc/closed", "home/.config/systemd/user",
            "home/.config/newswire/feeds", "xdg/newswire/feeds",
        ]
        for folder in folders {
            try FileManager.default.createDirectory(atPath: file(folder), withIntermediateDirectories: true)
        }
        for path in try FileManager.default.subpathsOfDirectory(atPath: file("")) { chmod(file(path), 0o755) }
        chmod(file(""), 0o755)
        chmod(file("etc/closed"), 0o700)
        try write("passwd: files\ngroup: files\n", to: "etc/nsswitch.conf")
        let (hub, certificates) = Self.service
        try write(
            "root:x:0:0::/root:/bin/sh\nnewswire-hub:x:\(hub):\(hub)::/none:/bin/sh\nalice:x:4242:4242::/none:/bin/sh\n",
            to: "etc/passwd"
        )
        try write("newswire-hub:x:\(hub):\ncertificates:x:\(certificates):newswire-hub\n", to: "etc/group")
        for folder in ["etc/systemd/system", "home/.config/systemd/user"] {
            try write("[Service]\n", to: "\(folder)/newswire-hub.service")
        }
        if let systemFile { try write(systemFile, to: "etc/newswire/newswire.yaml") }
        for folder in ["home", "xdg"] {
            let paths = try FileManager.default.subpathsOfDirectory(atPath: file(folder))
            for path in [""] + paths { chown(file("\(folder)/\(path)"), 4_242, 4_242) }
        }
    }

    func file(_ name: String) -> String { scratch.file(name) }

    func write(_ text: String, to name: String, mode: mode_t = 0o644) throws {
        try scratch.write(text, to: name)
        chmod(file(name), mode)
    }

    func setUp(
        _ arguments: [String],
        asRoot: Bool,
        _ environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        let user = asRoot ? [] : ["setpriv", "--reuid", Self.user, "--regid", Self.user, "--clear-groups"]
        let child = ChildProcess(
            arguments: [
                "unshare", "--mount", "sh", "-euc", "mount --bind \"$0\" /etc; exec \"$@\"", file("etc"),
            ] + user + [BuiltProgram.path, "setup"] + arguments,
            environment: BuiltProgram.base.merging(["HOME": home].merging(environment) { $1 }) { $1 },
            timeout: WaitLimit.duration
        )
        return try await child.run()
    }
}

/// 'newswire setup' with the files that services read, or do not.
@Suite(.enabled("needs root, and mount namespaces") { try await Machine.isAvailable() })
struct SetupUnitsTests {
    private static let own = "home/.config/newswire/newswire.yaml"

    /// A setup of a user, and the way to start the hub that it names.
    struct UserSetup: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var hasSystemFile = false
        var isWritable = false
        var config: String?
        var variables: [String: String] = [:]
        /// True if the user's units are started.
        var hasUnits = false
        /// The file that commands name.
        var named: String?
    }

    @Test(arguments: [
        UserSetup(testDescription: "the user's own file", hasUnits: true),
        UserSetup(testDescription: "the user's own file, named", config: own, hasUnits: true),
        UserSetup(
            testDescription: "the user's own file, where this session has another",
            config: own,
            variables: ["XDG_CONFIG_HOME": "xdg"],
            hasUnits: true,
            named: own
        ),
        UserSetup(
            testDescription: "in another spelling",
            config: "home/.config/./newswire//newswire.yaml",
            hasUnits: true
        ),
        UserSetup(
            testDescription: "another file",
            config: "xdg/newswire/newswire.yaml",
            named: "xdg/newswire/newswire.yaml"
        ),
        UserSetup(testDescription: "beside a system file", hasSystemFile: true, config: own, named: own),
        UserSetup(testDescription: "the system file", hasSystemFile: true, isWritable: true),
        UserSetup(
            testDescription: "a folder that services do not know",
            variables: ["XDG_CONFIG_HOME": "xdg"],
            named: "xdg/newswire/newswire.yaml"
        ),
    ])
    func `a user's units are used if they read the file, and else commands name it`(setup: UserSetup) async throws {
        let machine = try Machine(systemFile: setup.hasSystemFile ? "hub:\n  port: 8788\n" : nil)
        if setup.isWritable {
            for path in ["etc/newswire", "etc/newswire/feeds", "etc/newswire/newswire.yaml"] {
                chown(machine.file(path), 4_242, 4_242)
            }
        }
        // An existing file, as its other spelling cannot be compared before.
        if setup.config != nil {
            try machine.write("hub:\n  port: 8789\n", to: Self.own)
            chown(machine.file(Self.own), 4_242, 4_242)
        }
        let outcome = try await machine.setUp(
            ["--pages", "public"] + (setup.config.map { ["--config", machine.file($0)] } ?? []),
            asRoot: false,
            setup.variables.mapValues { machine.file($0) }
        )
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let lines = outcome.standardOutput
        let naming = setup.named.map { " --config \(machine.file($0))" } ?? ""
        #expect(lines.contains("  systemctl --user restart newswire-hub.service\n") == setup.hasUnits, "\(lines)")
        #expect(lines.contains("  newswire hub\(naming)\n") == !setup.hasUnits, "\(lines)")
        for command in ["hub keys", "hub invite --operator"] {
            #expect(lines.contains(" newswire \(command)\(naming)\n"), "\(lines)")
        }
    }

    @Test func `root's standard file is the system's, whatever the session says`() async throws {
        let machine = try Machine(systemFile: "hub:\n  port: 8788\n")
        let flags = ["--pages", "public", "--dry-run"]
        let outcome = try await machine.setUp(flags, asRoot: true, ["XDG_CONFIG_HOME": machine.file("xdg")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(
            outcome.standardError.contains("would set pages: public (was not set) in '/etc/newswire/newswire.yaml'")
        )
        #expect(outcome.standardOutput.contains("  systemctl restart newswire-hub.service\n"), "\(outcome)")
        #expect(!outcome.standardOutput.contains("--config"), "\(outcome)")
    }

    // MARK: - Reading the certificate

    /// Writes a certificate and its key, which the group of certificates may read.
    private func certificate(on machine: Machine) throws {
        let authority = try CertificateAuthority(host: "elsewhere", now: Date())
        let identity = try authority.issue(for: [HostName.name("hub.example.org")], now: Date())
        for folder in ["tls", "closed"] {
            try machine.write(identity.chain, to: "etc/\(folder)/cert.pem")
            try machine.write(identity.privateKey, to: "etc/\(folder)/key.pem", mode: 0o640)
            chown(machine.file("etc/\(folder)/key.pem"), 0, Machine.service.certificates)
        }
        for (link, target) in [
            ("etc/tls/through.pem", "../closed/cert.pem"), ("etc/closed/out.pem", "/etc/tls/cert.pem"),
            ("etc/tls/hidden.pem", machine.file("link.pem")), ("link.pem", "/etc/tls/cert.pem"),
        ] { try #require(symlink(target, machine.file(link)) == 0) }
    }

    @Test(arguments: [
        ("/etc/tls/cert.pem", true), ("/etc/closed/cert.pem", false), ("/etc/tls/through.pem", false),
        ("/etc/closed/out.pem", false),
    ])
    func `a certificate is refused if the service cannot read it, and only when it is chosen`(
        file: String,
        isReadable: Bool
    ) async throws {
        let key = "/etc/tls/key.pem"
        let machine = try Machine(systemFile: "hub:\n  listen: 0.0.0.0\n  host-names: [hub.example.org]\n")
        try certificate(on: machine)
        let chosen = try await machine.setUp(["--certificate", "\(file) \(key)", "--dry-run"], asRoot: true)
        #expect(chosen.ending == .exited(isReadable ? 0 : 78), "\(chosen)")
        #expect(chosen.standardError.contains("cannot read '\(file)'; nothing was changed") == !isReadable, "\(chosen)")
        // The service may read it by an access list, which is not looked at.
        try machine.write(
            "hub:\n  listen: 0.0.0.0\n  host-names: [hub.example.org]\n  tls-certificate: \(file)\n  tls-key: \(key)\n",
            to: "etc/newswire/newswire.yaml"
        )
        let again = try await machine.setUp(["--pages", "public", "--dry-run"], asRoot: true)
        #expect(again.ending == .exited(0), "\(again)")
        let files = "\(file) /etc/closed/key.pem"
        let other = try await machine.setUp(["--certificate", files, "--dry-run"], asRoot: true)
        #expect(other.ending == .exited(78), "\(other)")
    }

    @Test func `a link in a folder that the unit hides leads nowhere`() async throws {
        let machine = try Machine(systemFile: "hub:\n  listen: 0.0.0.0\n  host-names: [hub.example.org]\n")
        try certificate(on: machine)
        let isHidden = ["/tmp/", "/var/tmp/", "/home/", "/root/"].contains { machine.file("").hasPrefix($0) }
        let flags = ["--certificate", "/etc/tls/hidden.pem /etc/tls/key.pem", "--dry-run"]
        let outcome = try await machine.setUp(flags, asRoot: true)
        #expect(outcome.ending == .exited(isHidden ? 78 : 0), "\(outcome)")
    }
}
