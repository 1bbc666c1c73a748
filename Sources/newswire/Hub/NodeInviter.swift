import Certificates
import Foundation
import HostSystem
import HubProtocol
import HubServer
import HubStore
import NetworkAddresses
import ReplicatedLog
import SQLiteFiles
import Settings
import StartupChecks

/// Invites one more hub to the log of a hub on this machine: gathers what it must have, and prints its code.
struct NodeInviter {
    /// The name of the new hub in the log.
    private let node: String
    private let settings: Settings
    private let edited: EditedConfiguration
    private let authorityKey: String?

    /// - Parameters:
    ///   - node: The name of the new hub in the log.
    ///   - settings: The settings of this hub.
    ///   - configuration: The configuration file, as the command line names it.
    ///   - authorityKey: The key that signs certificates for the log; `nil` for `ca.key` beside `log-ca`.
    /// - Throws: ``Failure`` 64 for a name that no hub can have, 78 for a file that cannot be used.
    init(_ node: String, _ settings: Settings, _ configuration: String?, _ authorityKey: String?) throws {
        do {
            _ = try HubSettings.logNode.entry.read(node)
        } catch {
            throw Failure(.usage, "'\(TerminalText.safe(node))' cannot be the name of a hub in the log: it \(error)")
        }
        self.node = node
        self.settings = settings
        self.authorityKey = authorityKey
        edited = try EditedConfiguration(configuration, ProcessInfo.processInfo.environment, isForReading: true)
    }

    func run() throws {
        guard let log = LogSettings(settings).configuration else {
            throw Failure(
                .badConfiguration,
                "this hub shares no log with others: 'log-servers' is not set",
                hint: "see 'Several machines' in the documentation"
            )
        }
        let shared = sharedSettings
        guard shared[HubSettings.logServers.entry.id] != nil else {
            throw Failure(
                .badConfiguration,
                "'log-servers' is not set in '\(edited.path)', from which the new hub gets its settings",
                hint: "write the settings of this hub into the file, or name another file with --config"
            )
        }
        guard log.node != node else { throw Failure(.usage, "'\(node)' is the name of this hub") }
        // Only root may be able to read the key, and rights are given up with the state directory.
        let logFiles = try logFiles(log.authority, certificate: log.certificate, credentials: log.credentials)
        let state = try HubState.existing(settings)
        let database = state.file(HubFiles.database)
        guard HostFile.exists(database), try LogMembership.position(of: database) != nil else {
            throw HubState.noHub(in: state, settings, "no hub that follows the log has run with the state directory")
        }
        let certificate = settings.value(HubSettings.tlsCertificate) ?? state.file(LocalCertificates.serverName)
        let facts = try CertificateFacts.read(certificate).facts
        let code = NodeCode(publicKeyHash: facts.publicKeyHash, secret: .random())
        try NodeInvitation.remove(in: state.path)
        do {
            let parcel = NodeInvitation.Parcel(
                node: node,
                stateFiles: try stateFiles(state),
                logFiles: logFiles,
                settings: shared,
                databaseBytes: try copy(database, for: state)
            )
            try NodeInvitation(for: code.secret, at: Timestamp(Date()), parcel).write(in: state.path)
        } catch {
            try? NodeInvitation.remove(in: state.path)
            throw error
        }
        Console.print("\(code)")
        let name = MachineNames.all().last { HostName($0)?.isLoopback == false } ?? "THIS-MACHINE"
        Console.notice("on the new machine: newswire hub join https://\(name):\(settings.value(HubSettings.port))")
        Console.notice("the code works once, within an hour, as long as this hub runs")
        if let listen = edited.text(of: HubSettings.listen.entry), shared[HubSettings.listen.entry.id] == nil {
            Console.notice("set 'listen' on the new machine: '\(listen)' is this machine's address")
        }
        if !settings.hubs.hubs.isEmpty {
            Console.notice("copy the section 'hubs' of '\(edited.path)' to the new machine, too")
        }
    }

    /// Copies the database of the running hub, which needs the disk as well.
    ///
    /// - Returns: The size of the copy in bytes.
    private func copy(_ database: String, for state: StateDirectory) throws -> Int {
        let copy = NodeInvitation.database(in: state.path)
        let size = { (path: String) in try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
        let needed = try Int64(size(database)) + Self.reserve
        if let free = DiskSpace(at: state.path)?.available, free < needed {
            throw Failure(
                .tryLater,
                "the copy of the database needs \(needed >> 20) MiB, and '\(state.path)' has \(free >> 20) MiB",
                hint: "make room, or use 'newswire hub backup' as the documentation says"
            )
        }
        try DatabaseFileError.naming(database) { try HubBackup.copy(database, to: copy) }
        return try size(copy)
    }

    /// Bytes that a copy leaves on the disk of the running hub.
    private static let reserve: Int64 = 256 << 20

    /// The files of the state directory that all hubs of a log have in common.
    static let stateFiles = [
        HubFiles.secrets, LocalCertificates.authorityName, LocalCertificates.authorityKeyName,
    ]

    private func stateFiles(_ state: StateDirectory) throws -> [String: String] {
        var files: [String: String] = [:]
        for name in Self.stateFiles {
            let path = state.file(name)
            // There is no authority with 'tls-certificate'.
            if name == HubFiles.secrets || HostFile.exists(path) { files[name] = try PrivateFile.read(path) }
        }
        return files
    }

    // MARK: - Access to the log's servers

    private func logFiles(
        _ authority: String?,
        certificate: String?,
        credentials: String?
    ) throws -> [String: String] {
        var files: [String: String] = [:]
        if let authority { files[JoinedLog.authority] = try PrivateFile.read(authority) }
        if let credentials { files[JoinedLog.credentials] = try PrivateFile.read(credentials) }
        guard certificate != nil else { return files }
        let issued = try issue(authority)
        files[JoinedLog.certificate] = issued.chain
        files[JoinedLog.key] = issued.privateKey
        return files
    }

    private func issue(_ authority: String?) throws -> ServerIdentity {
        let beside = authority.map { "\(URL(filePath: $0).deletingLastPathComponent().path)/ca.key" }
        guard let authority, let keyPath = authorityKey ?? beside else {
            throw Failure(.badConfiguration, "the new hub needs a certificate for the log, and 'log-ca' is not set")
        }
        guard HostFile.exists(keyPath) else {
            throw Failure(
                .badConfiguration,
                "the new hub needs a certificate for the log, and there is no key '\(keyPath)' to sign it with",
                hint: "pass --log-ca-key PATH: 'newswire hub log init' has written it as 'ca.key'"
            )
        }
        return try CertificateAuthority(
            certificate: try PrivateFile.read(authority),
            path: authority,
            key: try PrivateFile.read(keyPath),
            keyPath: keyPath
        ).issue(for: [HostName(node) ?? .name("localhost")], usages: .both, now: Date())
    }

    // MARK: - Settings

    /// The settings of the configuration file that all hubs of a log should have.
    private var sharedSettings: [String: String] {
        var shared: [String: String] = [:]
        for entry in Self.sharedEntries {
            guard let text = edited.text(of: entry) else { continue }
            // Another address is of this machine alone.
            guard entry.key != HubSettings.listen.entry.key || ["0.0.0.0", "::"].contains(text) else { continue }
            shared[entry.id] = text
        }
        return shared
    }

    /// The settings in which the hubs of a log do not differ, as far as they do not name files.
    static let sharedEntries = (SettingsTable.entries(.hub) + SettingsTable.entries(.backend)).filter { entry in
        let own = [HubSettings.logNode.entry, HubSettings.logLevel.entry, BackendSettings.logLevel.entry].map(\.id)
        return !entry.isOfMachine && !own.contains(entry.id)
    }
}

/// The files with which a hub that has joined authenticates to the log's servers, in the folder `log` beside its
/// configuration.
enum JoinedLog {
    static let authority = "ca.crt"
    static let certificate = "hub.crt"
    static let key = "hub.key"
    static let credentials = "hub.creds"

    /// The settings that name the files.
    static let settings = [
        authority: HubSettings.logAuthority.entry, certificate: HubSettings.logCertificate.entry,
        key: HubSettings.logKey.entry, credentials: HubSettings.logCredentials.entry,
    ]
}
