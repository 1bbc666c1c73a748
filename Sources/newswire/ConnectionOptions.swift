import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP

/// How a command finds its hub.
///
/// The connection string is a secret: a file or the environment, never an argument.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "The hub's name.")
    var hub = ConnectionOptions.defaultHub

    @Option(
        help: ArgumentHelp(
            "The file that holds the connection string.",
            discussion: """
                Without it: $NEWSWIRE_CONNECTION_STRING, then the file $NEWSWIRE_CONNECTION_FILE names, then \
                $CREDENTIALS_DIRECTORY/connection, which systemd's LoadCredential= fills, then the file that a hub of \
                yours on this machine has written.
                """,
            valueName: "path"
        )
    )
    var connectionFile: String?

    @Flag(help: "Send keys and news over plain HTTP to a hub on another machine.")
    var allowPlainHttp = false

    static let defaultHub = "news"

    /// The name of the credential in `LoadCredential=connection:…`.
    static let credential = "connection"

    /// Finds the connection string that a flag, the environment or the unit's credentials name.
    ///
    /// - Throws: ``Failure`` 78 when it cannot be read.
    func namedConnection() throws -> ConnectionString? {
        let environment = ProcessInfo.processInfo.environment
        if let connectionFile { return try read(connectionFile) }
        if let text = environment["NEWSWIRE_CONNECTION_STRING"], !text.isEmpty {
            return try parse(text, from: "NEWSWIRE_CONNECTION_STRING")
        }
        if let path = environment["NEWSWIRE_CONNECTION_FILE"], !path.isEmpty { return try read(path) }
        if let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") {
            // A unit may have other credentials and not this one.
            let path = "\(directory)/\(Self.credential)"
            if FileManager.default.fileExists(atPath: path) { return try read(path) }
        }
        return nil
    }

    /// Reads the connection string that a hub of this user's on this machine has written.
    func localConnection(_ file: HubFiles.Connection) throws -> ConnectionString? {
        try HubFiles.existing(file).map { try read($0) }
    }

    /// Finds the connection string of a command that sends.
    ///
    /// - Throws: ``Failure`` 78 when there is none, or it cannot be read.
    func sendingConnection() throws -> ConnectionString {
        if let connection = try namedConnection() ?? localConnection(.full) { return connection }
        throw Failure(
            .badConfiguration,
            "no connection string: there is no hub of yours on this machine and none was named",
            hint: "start one with 'newswire hub', or put the string into a file and pass --connection-file PATH"
        )
    }

    func hubName() throws -> HubName {
        do {
            return try HubName(hub)
        } catch {
            throw Failure(.badConfiguration, "the hub's name '\(hub)' cannot be used: \(error)")
        }
    }

    /// A client for the hub.
    func client(_ connection: ConnectionString, http: OutboundClient) throws -> HubClient {
        do {
            return try HubClient(
                connection: connection,
                hub: try hubName(),
                http: http,
                allowPlainHTTP: allowPlainHttp
            )
        } catch let error as ConnectionStringError {
            throw Failure(
                .badConfiguration,
                "\(error)",
                hint: "plain HTTP is for this machine alone, unless you pass --allow-plain-http"
            )
        }
    }

    private func read(_ path: String) throws -> ConnectionString {
        let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
        return try parse(text, from: "'\(path)'")
    }

    private func parse(_ text: String, from source: String) throws -> ConnectionString {
        do {
            return try ConnectionString(parsing: text)
        } catch {
            throw Failure(
                .badConfiguration,
                "the connection string in \(source) cannot be used: \(error)",
                hint: "it reads Endpoint=…;SharedAccessKeyName=…;SharedAccessKey=…; 'newswire hub keys' shows yours"
            )
        }
    }
}

/// The files of a hub's state directory.
enum HubFiles {
    static let database = "hub.sqlite"
    static let lock = "hub.lock"

    /// Connection strings that a hub leaves for programs of the same user.
    enum Connection: String {
        case listen = "listen.connection"
        case full = "full.connection"
    }

    static func directory(_ override: String?) throws -> StateDirectory {
        try StateDirectory.locate(
            role: "hub",
            profile: nil,
            override: override,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// The connection file that a hub of this user has written, if there is one; makes nothing.
    static func existing(_ connection: Connection) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let home = environment["XDG_STATE_HOME"] ?? "\(environment["HOME"] ?? "")/.local/state"
        let path = "\(home)/newswire/hub/\(connection.rawValue)"
        return FileManager.default.isReadableFile(atPath: path) ? path : nil
    }
}
