import HostSystem
import HubClient
import HubProtocol

/// Keeps the installation at the hub consistent with the choice and the login on disk.
///
/// Only the app backend, which has Manage, can set a user's tag. With Listen the agent can change its categories, and
/// can remove the tag by deleting the installation and registering it again.
struct Registrar: Sendable {
    let store: AgentStore
    let directory: StateDirectory
    let client: HubClient
    let logins: LoginSource
    let environment: AgentEnvironment

    /// Registers the installation with the stored choice: through the app backend as the user who is logged in, or else
    /// directly at the hub.
    ///
    /// - Returns: False if there is no choice, and nothing was sent.
    func register() async throws(HubFailure) -> Bool {
        let lock = try await acquireLock()
        defer { lock.close() }
        return try await registerLocked()
    }

    /// Registers as the user who is logged in, or as nobody after a logout; calls the hub directly only to leave a
    /// former user.
    func registerUser() async throws(HubFailure) {
        let lock = try await acquireLock()
        defer { lock.close() }
        // Another process may have done this already.
        guard isUserDue(try await storedRecord()) else { return }
        _ = try await registerLocked(atHub: false)
    }

    /// Registers on behalf of a caller that holds the change lock.
    func registerLocked(atHub: Bool = true) async throws(HubFailure) -> Bool {
        let record = try await storedRecord()
        guard let categories = record.categories else { return false }
        let found = logins.found()
        let hasLeft = try await leaveFormerUser(record, found)
        let installation = Installation(
            id: record.installation,
            platform: .stream,
            pushChannel: .handle(record.channel.text),
            tags: categories.compactMap { try? Tag($0) },
            templates: [AgentTemplate.name: InstallationTemplate(body: record.template.body)]
        )
        if case .present(let login) = found, isUsable(login),
            try await register(installation, as: login, record, categories)
        {
            return true
        }
        guard atHub || hasLeft else { return true }
        do {
            try await client.put(installation, channel: record.channel)
        } catch {
            let failure = HubFailure(error)
            if case .notFound(let detail) = failure { throw .refused(HubFailure.noSuchHub(detail)) }
            throw failure
        }
        // If this fails, the next start registers again, which changes nothing.
        try? await store.setRegistered(categories, template: record.template.ownBody)
        return true
    }

    // MARK: - Users

    /// True if the installation may have the tag of a user who is no longer logged in here.
    func mustLeave(_ record: AgentRecord) -> Bool { mustLeave(record, logins.found()) }

    /// True if the agent is not registered for the user who is logged in, and the app backend may be called now.
    func isUserDue(_ record: AgentRecord) -> Bool {
        guard record.categories != nil else { return false }
        let found = logins.found()
        if mustLeave(record, found) { return logins.pause == nil }
        guard case .present(let login) = found else { return false }
        return isUsable(login) && record.registeredUser != login.key
    }

    private func isUsable(_ login: Login) -> Bool { !logins.isRefused(login) && logins.pause == nil }

    private func mustLeave(_ record: AgentRecord, _ found: LoginFile.State) -> Bool {
        guard let tagged = record.taggedUser else { return false }
        switch found {
        case .absent: return true
        case .unreadable: return false
        case .present(let login): return login.key != tagged
        }
    }

    /// Deletes the installation with the former user's tag, and with it the hub's pending messages for that user.
    ///
    /// - Returns: True if that was necessary.
    private func leaveFormerUser(
        _ record: AgentRecord,
        _ found: LoginFile.State
    ) async throws(HubFailure) -> Bool {
        guard mustLeave(record, found) else { return false }
        do {
            try await client.delete(record.installation, channel: record.channel)
        } catch {
            throw HubFailure(error)
        }
        // If this fails, the installation is deleted once more.
        try? await store.setUntagged()
        return true
    }

    /// - Returns: False if the app backend did not register the agent, which has been reported.
    private func register(
        _ installation: Installation,
        as login: Login,
        _ record: AgentRecord,
        _ categories: [String]
    ) async throws(HubFailure) -> Bool {
        do {
            let backend = try logins.client(login)
            // Record the tag before the call: after a crash, an unrecorded tag would never be removed.
            if record.taggedUser != login.key { try await store.setTagged(login.key) }
            try await backend.put(installation)
        } catch let error as BackendClientError {
            if error == .cancelled { throw .cancelled }
            logins.failed(error, login)
            return false
        } catch let error as BackendAddressError {
            logins.failed(.refused(status: 400, reason: "\(error)", retryAfter: nil), login)
            return false
        } catch {
            logins.postpone()
            return false
        }
        logins.succeeded()
        try? await store.setRegistered(categories, template: record.template.ownBody, user: login.key)
        return true
    }

    // MARK: -

    /// Reports, once each, the chosen categories that the hub no longer has; the choice stays as it is.
    func warnOfRetired() async {
        guard let known = try? await client.listedCategories(), let record = try? await store.record() else { return }
        let retired = CategoryChoice.retired(record.categories ?? [], known: known)
        guard retired != record.retired else { return }
        // Record first: otherwise, if recording failed, every start would report it.
        do { try await store.setRetired(retired) } catch { return }
        let news = retired.filter { !record.retired.contains($0) }
        guard !news.isEmpty else { return }
        let names = news.map { "'\($0)'" }.joined(separator: ", ")
        environment.reporter.warning("the hub no longer has the category \(names); no messages will arrive for it")
    }

    func storedRecord() async throws(HubFailure) -> AgentRecord {
        do {
            return try await store.record()
        } catch {
            throw .refused(error.asAgentError)
        }
    }

    private func acquireLock() async throws(HubFailure) -> FileLock {
        do {
            return try await ChangeLock.acquire(in: directory, environment)
        } catch {
            throw Task.isCancelled ? .cancelled : .refused(error)
        }
    }
}
