import HostSystem
package import HubClient
package import HubProtocol

/// The user who is logged in, for people.
package struct LoginSummary: Sendable, Equatable {
    package let user: String
    package let backend: String
    /// In ISO 8601.
    package let expires: String
    /// True if the hub has registered the agent for the user; `nil` if the profile has not subscribed.
    package var isRegistered: Bool?

    init(_ login: Login, isRegistered: Bool? = nil) {
        user = login.user
        backend = login.backend
        expires = login.expires
        self.isRegistered = isRegistered
    }
}

/// A login that has ended.
package struct EndedLogin: Sendable, Equatable {
    /// The user; `nil` if the login was damaged and the agent was registered for no user.
    package let user: String?
}

extension SubscriberAgent {
    /// Returns the app backend for a login without an address: that of the former login, or else the hub's own.
    ///
    /// - Throws: ``AgentError`` with exit 78 if the profile knows no hub.
    package func standardBackend() async throws(AgentError) -> BackendAddress {
        let found = logins.file.state()
        let hub: ConnectionString? = if case .present = found { nil } else { try connectionString() }
        do {
            if case .present(let former) = found { return try BackendAddress(parsing: former.backend) }
            if let hub { return try BackendAddress(servedBy: hub) }
        } catch {
            throw AgentError(.badConfiguration, "\(error)", hint: .noBackend)
        }
        throw AgentError(.badConfiguration, "no app backend is known", hint: .noBackend)
    }

    /// Exchanges a password for a token, stores it, and registers the agent for the user if it has subscribed.
    ///
    /// A former login is revoked if its app backend can be reached. `device` names the token in lists.
    ///
    /// - Throws: ``AgentError``; nothing has changed then.
    package func logIn(
        user: String,
        password: String,
        at address: BackendAddress,
        device: String
    ) async throws(AgentError) -> LoginSummary {
        let allowsPlainHTTP = try await allowsPlainHTTP()
        guard !address.isExposed || allowsPlainHTTP else {
            let error = BackendAddressError(address: address.url, reason: LoginSource.exposed)
            throw AgentError(.badConfiguration, "\(error)", hint: .plainHTTP)
        }
        let authority = try authority(for: address)
        let path = configuration.authorityFile ?? logins.path(authority)
        let issued: BackendClient.IssuedToken
        do {
            issued = try await logins.client(address, token: nil, authority: path)
                .logIn(user: user, password: password, device: device)
        } catch {
            throw AgentError(error, "log in as '\(user)'", isLogin: true)
        }
        let login = Login(
            user: user,
            backend: address.url,
            token: issued.token,
            expires: issued.expires,
            authority: authority,
            allowsPlainHTTP: allowsPlainHTTP
        )
        let lock: FileLock
        let former: BackendClient?
        do {
            lock = try await ChangeLock.acquire(in: configuration.directory, environment)
            former = client(of: logins.file.state())
            try withHost { () throws(HostError) in try store(login) }
        } catch {
            try? await logins.client(address, token: login.token, authority: path).logOut()
            throw error
        }
        defer { lock.close() }
        // A failure is not reported: nobody has the former token any longer.
        try? await former?.logOut()
        return LoginSummary(login, isRegistered: await registerUserLocked(login.key))
    }

    private func store(_ login: Login) throws(HostError) {
        if login.authority == .own, let named = configuration.authorityFile {
            let text = try PrivateFile.read(named, limit: Self.maximumAuthorityBytes)
            try PrivateFile.write(text, to: logins.file.authorityPath)
        }
        try logins.file.write(login)
    }

    /// Revokes the token, deletes it, and removes the user's tag from the agent at the hub.
    ///
    /// The token is deleted from this machine in any case. Failures at the app backend and the hub are only reported: a
    /// deleted token does no harm, and an agent that listens removes the tag as soon as it can.
    ///
    /// A damaged login is deleted, too; its token cannot be revoked from here.
    ///
    /// - Returns: The login; `nil` if no user was logged in.
    package func logOut() async throws(AgentError) -> EndedLogin? {
        let lock = try await ChangeLock.acquire(in: configuration.directory, environment)
        defer { lock.close() }
        let found = logins.file.state()
        if found == .absent { return nil }
        let record = try await storing(store.record)
        let backend = client(of: found)
        // The app backend also removes the agent from the user's devices. If this fails, the hub is called below.
        if record.taggedUser != nil { try? await backend?.delete(record.installation) }
        var failure: BackendClientError?
        do throws(BackendClientError) {
            try await backend?.logOut()
        } catch {
            // 401 means that the token is already invalid.
            if error.status != 401 { failure = error }
        }
        try withHost { () throws(HostError) in try logins.file.remove() }
        let user = user(of: found) ?? record.taggedUser
        switch found {
        case .absent: break
        case .unreadable(let reason):
            environment.reporter.warning(
                "\(reason); it is deleted here, but its token is valid at the app backend until it expires"
            )
            environment.reporter.hint(.revokeToken(user: user ?? "NAME"))
        case .present(let login):
            guard let failure else { break }
            environment.reporter.warning(
                "\(failure); the token is deleted here, but valid until \(login.expires) at the app backend"
            )
            environment.reporter.hint(.revokeToken(user: login.user))
        }
        if let tagged = record.taggedUser, await registerUserLocked(nil) == false {
            environment.reporter.warning(
                "the hub still has this agent as a device of '\(user ?? tagged)'; 'newswire subscribe' corrects this "
                    + "before it shows anything"
            )
        }
        return EndedLogin(user: user)
    }

    /// Returns the user who is logged in; `nil` if there is none.
    package func login() async throws(AgentError) -> LoginSummary? {
        switch logins.file.state() {
        case .absent: return nil
        case .unreadable(let reason): throw AgentError(.badConfiguration, reason, hint: .logIn)
        case .present(let login):
            let record = try await storing(store.record)
            let isSubscribed = record.categories != nil
            return LoginSummary(login, isRegistered: isSubscribed ? record.registeredUser == login.key : nil)
        }
    }

    /// Returns a client that calls the app backend as the user who is logged in.
    ///
    /// - Throws: ``AgentError`` with exit 78 if no user is.
    package func backend() throws(AgentError) -> BackendClient {
        switch logins.file.state() {
        case .absent: throw AgentError(.badConfiguration, "nobody is logged in", hint: .logIn)
        case .unreadable(let reason): throw AgentError(.badConfiguration, reason, hint: .logIn)
        case .present(let login):
            do {
                return try logins.client(login)
            } catch {
                throw AgentError(.badConfiguration, "\(error)", hint: .logIn)
            }
        }
    }

    /// Number of secure notifications whose text has not been fetched yet.
    package func secureCount() async throws(AgentError) -> Int {
        try await storing(store.secureCount)
    }

    // MARK: -

    private func user(of found: LoginFile.State) -> String? {
        if case .present(let login) = found { login.user } else { nil }
    }

    private func client(of found: LoginFile.State) -> BackendClient? {
        guard case .present(let login) = found else { return nil }
        return try? logins.client(login)
    }

    private func allowsPlainHTTP() async throws(AgentError) -> Bool {
        if let said = configuration.allowsPlainHTTP { return said }
        return try await storing(store.record).allowsPlainHTTP
    }

    /// Returns the authorities for an app backend's certificate.
    ///
    /// A named file is for the app backend. Otherwise the hub's authority is used for an app backend on the hub's host.
    private func authority(for address: BackendAddress) throws(AgentError) -> Login.Authority? {
        if configuration.authorityFile != nil { return .own }
        if case .present(let former) = logins.file.state(), former.backend == address.url { return former.authority }
        guard let hub = try? connectionString(), let served = try? BackendAddress(servedBy: hub) else { return nil }
        return served.host == address.host ? .hub : nil
    }

    /// Registers for the user who is now logged in, or for nobody; the caller holds the change lock.
    ///
    /// - Returns: True if the hub has registered the agent for `user`; `nil` without a subscription.
    private func registerUserLocked(_ user: String?) async -> Bool? {
        do {
            guard try await storing(store.record).categories != nil else { return nil }
            _ = try await registrar(try await connect().client).registerLocked()
            let record = try await storing(store.record)
            return record.taggedUser == user && record.registeredUser == user
        } catch let failure as HubFailure {
            environment.reporter.warning("\(failure.asAgentError); the agent is registered once the hub can be reached")
        } catch {
            environment.reporter.warning("\(error); the agent is not registered")
        }
        return false
    }
}

extension AgentError {
    /// Makes an error from a failed call; `isLogin` is true if a password was sent instead of a token.
    package init(_ error: BackendClientError, _ attempt: String, isLogin: Bool = false) {
        let text = "cannot \(attempt): \(error)"
        switch error {
        case .unreachable(_, let cause):
            self.init(.hubUnreachable, text, hint: cause.map { .backendCertificate($0) } ?? .noBackend)
        case .malformedReply: self.init(.hubUnreachable, text, hint: .noBackend)
        case .refused(401, _, _): self.init(.badConfiguration, text, hint: isLogin ? nil : .logIn)
        case .refused(let status, _, _) where [403, 404].contains(status): self.init(.badConfiguration, text)
        case .refused where error.isTemporary: self.init(.tryLater, text)
        case .refused, .cancelled: self.init(.failed, text)
        }
    }
}
