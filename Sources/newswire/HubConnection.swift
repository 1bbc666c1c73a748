import ArgumentParser
import Certificates
import FeedLists
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Settings

/// Calls `work` with a client for all outgoing requests, and closes its connections before it returns.
func withHTTP<Output>(
    userAgent: String = Program.userAgent,
    connectionsPerHost: Int = 4,
    _ work: (OutboundClient) async throws -> Output
) async throws -> Output {
    let http = OutboundClient(userAgent: userAgent, maximumConnectionsPerHost: connectionsPerHost)
    return try await closing({ await http.shutdown() }) { try await work(http) }
}

/// Calls `work`, and then `close`, also after an error; `defer` cannot wait.
func closing<Output>(_ close: () async -> Void, after work: () async throws -> Output) async throws -> Output {
    let result: Result<Output, any Error>
    do {
        result = .success(try await work())
    } catch {
        result = .failure(error)
    }
    await close()
    return try result.get()
}

extension Program {
    /// Fetches a document as the publisher would, and fails for every status but 2xx.
    ///
    /// `hasLocal` is true if the command has the flag `--local` and it was not passed.
    static func fetch(
        _ request: OutboundRequest,
        contact: String?,
        hasLocal: Bool = false
    ) async throws -> OutboundResponse {
        do {
            let response = try await withHTTP(userAgent: userAgent(contact: contact)) { http in
                try await untilStopped { try await http.send(request) }
            }
            guard (200..<300).contains(response.status) else {
                throw Failure(.failed, "'\(request.url)' answered \(response.status)")
            }
            return response
        } catch let error as OutboundError {
            let hint: String? =
                switch error {
                case .refusedAddress where hasLocal: "pass --local for an address of your own network"
                case .untrusted(_, _, let cause): cause.feedCure
                default: nil
                }
            throw Failure(.failed, "cannot fetch '\(request.url)': \(error)", hint: hint)
        }
    }
}

extension HubName {
    /// Parses a name from the configuration or the command line.
    init(given name: String, _ status: ExitStatus = .badConfiguration) throws(Failure) {
        do throws(ProtocolError) {
            try self.init(name)
        } catch {
            throw Failure(status, "the hub's name '\(name)' cannot be used: \(error)")
        }
    }
}

/// The connection of a command to its hub.
///
/// The connection string is a secret: it comes from a file or the environment, never from an argument.
struct HubConnection: Sendable {
    let hub: HubName
    /// True if the name is not the default.
    var isHubNamed = false
    var fileFlag: String?
    /// The connection file from the environment or the configuration file.
    var file: String?
    /// The file of trusted authorities for the hub's certificate; `nil` for the system's.
    var authorityFile: String?
    /// `nil` if neither flag nor configuration sets it.
    var allowPlainHTTP: Bool?
    /// The configured state directory of a hub on this machine; `nil` for the default.
    let hubState: String?

    /// Returns the connection string that a flag, the environment, the configuration or the unit's credentials name.
    ///
    /// - Throws: ``Failure`` 78 if it cannot be read.
    func named() throws -> ConnectionString? {
        switch ConnectionSource(flag: fileFlag, file: file, environment: ProcessInfo.processInfo.environment) {
        case .file(let path): try read(path)
        case .variable(let text): try parse(text, from: ConnectionSource.stringVariable)
        case nil: nil
        }
    }

    /// Reads the connection string that this user's hub on this machine, or the package's service, has written.
    ///
    /// Root reads it with the rights of the directory's owner, who may have put a link in its place.
    func local(_ file: HubFiles.Connection) throws -> ConnectionString? {
        guard let directory = HubFiles.directory(state: hubState) else { return nil }
        return try HubState.reading(directory) {
            let path = directory.file(file.rawValue)
            return FileManager.default.isReadableFile(atPath: path) ? try read(path) : nil
        }
    }

    /// Returns the connection string for a command that sends.
    ///
    /// - Throws: ``Failure`` 78 if there is none, or it cannot be read.
    func sending() throws -> ConnectionString {
        if let connection = try named() ?? local(.full) { return connection }
        throw missing
    }

    /// Returns the connection string that an app backend calls its hub with.
    ///
    /// If this user has no hub, it is that of `newswire hub --emulate`, unless a state directory is configured.
    ///
    /// - Throws: ``Failure`` 78 if it cannot be read.
    func ofBackend() throws -> (string: ConnectionString, isEmulated: Bool)? {
        if let connection = try named() ?? local(.full) { return (connection, false) }
        guard hubState == nil, let path = HubFiles.emulated(.full) else { return nil }
        return (try read(path), true)
    }

    /// The failure of a command that needs a connection string and has none.
    var missing: Failure {
        let none = "no connection string: none is configured, and"
        let foreign = HubFiles.directory(state: hubState).flatMap {
            Administrator.refusal($0, attempt: "\(none) you may not use the hub on this machine")
        }
        return foreign
            ?? Failure(
                .badConfiguration,
                "\(none) there is no hub of yours on this machine",
                hint: "start one with 'newswire hub', or put the string into a file and pass --connection-file PATH"
            )
    }

    func client(_ connection: ConnectionString, http: OutboundClient) throws -> HubClient {
        try HubClient(
            connection: connection,
            hub: hub,
            http: http,
            allowPlainHTTP: allowPlainHTTP ?? false,
            certificateAuthorities: try Self.authorities(authorityFile)
        )
    }

    /// Checks a file of certificate authorities, which must contain at least one.
    ///
    /// - Throws: ``Failure`` 78.
    static func authorities(_ authorityFile: String?) throws -> String? {
        guard let authorityFile else { return nil }
        if let problem = CertificateFiles.authorityProblem(authorityFile) {
            throw Failure(
                problem.host?.isTemporary ?? false ? .tryLater : .badConfiguration,
                "\(problem)",
                hint: "copy the file that 'newswire hub certificate' shows on the hub's machine"
            )
        }
        return authorityFile
    }

    func read(_ path: String) throws -> ConnectionString {
        guard !path.contains("SharedAccessKey") else {
            throw Failure(
                .badConfiguration,
                "a connection string was given instead of a file's path",
                hint: "every user of this machine can read arguments: put the string into a file"
            )
        }
        let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
        return try parse(text, from: "'\(path)'")
    }

    func parse(_ text: String, from source: String) throws -> ConnectionString {
        guard text != ConnectionSource.missing else {
            throw Failure(
                .tryLater,
                "the file in the unit's LoadCredential= does not exist",
                hint: "start the hub on this machine, or set another file: LoadCredential=connection:PATH"
            )
        }
        do {
            return try ConnectionString(parsing: text)
        } catch {
            throw Failure(
                .badConfiguration,
                "the connection string in \(source) cannot be used: \(error)",
                hint: "the form is Endpoint=…;SharedAccessKeyName=…;SharedAccessKey=…; 'newswire hub keys' shows yours"
            )
        }
    }
}

extension HubConnection {
    /// Reads the connection of a program: of the publisher, the app backend or the agent.
    ///
    /// - Throws: ``Failure`` 78 for a name that no hub can have.
    init(_ settings: Settings, _ connection: ConnectionSettings) throws(Failure) {
        let file = settings.value(connection.connectionFile)
        self.init(
            hub: try HubName(given: settings.value(connection.hub)),
            isHubNamed: settings.origin(of: connection.hub.entry) != nil,
            fileFlag: settings.origin(of: connection.connectionFile.entry) == .flag ? file : nil,
            file: file,
            authorityFile: settings.value(connection.authorityFile),
            allowPlainHTTP: settings.given(connection.allowPlainHTTP),
            hubState: settings.value(HubSettings.state)
        )
    }
}
