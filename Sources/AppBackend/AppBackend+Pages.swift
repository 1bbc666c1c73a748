package import HubProtocol

/// What pages of the same process do for their users, with a token instead of an `Authorization` header.
extension AppBackend {
    /// Exchanges a password for a token; `device` is its name in lists of tokens.
    ///
    /// - Throws: ``SignInRefusal``; a `DatabaseError` or `HostError` for failures of the server.
    package func logIn(
        name: String,
        password: String,
        device: String,
        _ context: BackendRequestContext
    ) async throws -> (token: String, caller: Caller) {
        guard let login = PasswordLogin(name: name, password: password) else { throw SignInRefusal.wrongCredentials }
        let token = try await signIn.logIn(login, device: device, context.network).token.text
        return (token, try await caller(token: token, context))
    }

    /// The user whose token it is.
    ///
    /// - Throws: ``SignInRefusal/wrongToken`` if it is not valid any more; otherwise as ``logIn(name:password:device:_:)``.
    package func caller(token: String, _ context: BackendRequestContext) async throws -> Caller {
        let caller = try await signIn.caller(authorization: "Bearer \(token)", network: context.network)
        configuration.onSignedIn(context.channel)
        return caller
    }

    /// Revokes a token; one that is not valid any more is not an error.
    package func logOut(token: String, _ context: BackendRequestContext) async throws {
        guard let token = AccessToken(token) else { return }
        do {
            try await signIn.logOut(token, context.network)
        } catch SignInRefusal.wrongToken {}
    }

    /// Registers an installation as a user's.
    ///
    /// - Throws: ``BackendRefusal`` for a tag that the server assigns, and for failures of the hub.
    package func register(
        _ installation: Installation,
        of user: UserName,
        _ context: BackendRequestContext
    ) async throws {
        try devices.tags.check(installation)
        try await devices.put(installation, for: user, from: context.network)
    }

    /// Deletes an installation of a user; one that is not the user's stays.
    ///
    /// - Throws: ``BackendRefusal`` for failures of the hub.
    package func unregister(_ id: InstallationID, of user: UserName) async throws {
        try await devices.delete(id, for: user)
    }
}
