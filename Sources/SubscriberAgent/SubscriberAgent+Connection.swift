import HostSystem
import HubClient
import HubProtocol
import SQLiteFiles

extension SubscriberAgent {
    struct Connected {
        let hub: String
        let allowsPlainHTTP: Bool
        let client: HubClient
    }

    func connect() async throws(AgentError) -> Connected {
        let record = try await storing(store.record)
        let connection = try connectionString()
        let stored = configuration.directory.file(Self.authorityName)
        let kept = configuration.connection == nil && HostFile.exists(stored) ? stored : nil
        let allowsPlainHTTP = configuration.allowsPlainHTTP ?? record.allowsPlainHTTP
        do {
            let hub = try configuration.hub ?? HubName(record.hub ?? HubName.standard)
            let client = try HubClient(
                connection: connection,
                hub: hub,
                http: http,
                allowPlainHTTP: allowsPlainHTTP,
                certificateAuthorities: configuration.authorityFile ?? kept,
                now: environment.now
            )
            return Connected(hub: hub.text, allowsPlainHTTP: allowsPlainHTTP, client: client)
        } catch {
            throw AgentError(.badConfiguration, "\(error)")
        }
    }

    func connectionString() throws(AgentError) -> ConnectionString {
        if let named = configuration.connection { return named }
        return try storedConnection()
    }

    private func storedConnection() throws(AgentError) -> ConnectionString {
        let path = configuration.directory.file(Self.connectionName)
        do {
            return try ConnectionString(parsing: PrivateFile.read(path))
        } catch let error as HostError where error.isMissing {
            if let local = configuration.localConnection { return local }
            throw AgentError(
                .badConfiguration,
                "no connection string for profile '\(configuration.profile)'",
                hint: .noConnectionString
            )
        } catch let error as HostError {
            throw AgentError(error)
        } catch {
            throw AgentError(.badConfiguration, "cannot use '\(path)': \(error)")
        }
    }

    /// Stores the connection, for services that start without it on their command line.
    func remember(_ connected: Connected) async throws(AgentError) {
        if let connection = configuration.connection {
            let path = configuration.directory.file(Self.connectionName)
            try withHost { () throws(HostError) in try PrivateFile.write("\(connection)\n", to: path) }
        }
        try withHost { () throws(HostError) in try rememberAuthority() }
        try await storing { () async throws(DatabaseFileError) in
            try await self.store.setHub(connected.hub, allowsPlainHTTP: connected.allowsPlainHTTP)
        }
    }

    /// Stores a copy of the named file, since its owner may move it.
    ///
    /// With a new connection string and no file, the former copy is removed.
    private func rememberAuthority() throws(HostError) {
        let path = configuration.directory.file(Self.authorityName)
        if let named = configuration.authorityFile {
            try PrivateFile.write(PrivateFile.read(named, limit: Self.maximumAuthorityBytes), to: path)
        } else if configuration.connection != nil {
            try HostFile.remove(path)
        }
    }

    func registrar(_ client: HubClient) -> Registrar {
        Registrar(
            store: store,
            directory: configuration.directory,
            client: client,
            logins: logins,
            environment: environment
        )
    }
}

/// Runs an operation on the agent's database, and throws its error as an ``AgentError``.
func storing<Value: Sendable>(
    _ body: () async throws(DatabaseFileError) -> Value
) async throws(AgentError) -> Value {
    do {
        return try await body()
    } catch {
        throw error.asAgentError
    }
}

/// Runs an operation on the agent's files, and throws its error as an ``AgentError``.
func withHost<Value>(_ body: () throws(HostError) -> Value) throws(AgentError) -> Value {
    do {
        return try body()
    } catch {
        throw AgentError(error)
    }
}
