import HostSystem
import HubClient
import HubProtocol

/// Keeps the installation at the hub in step with the choice on disk.
struct Registrar: Sendable {
    let store: AgentStore
    let directory: StateDirectory
    let client: HubClient
    let environment: AgentEnvironment

    /// Puts the installation with the stored choice, overwriting what the hub has.
    ///
    /// - Returns: Whether there is a choice; without one nothing is sent.
    func register() async throws(HubFailure) -> Bool {
        let lock: FileLock
        do {
            lock = try await ChangeLock.acquire(in: directory, environment)
        } catch {
            throw Task.isCancelled ? .cancelled : .refused(error)
        }
        defer { lock.close() }
        return try await registerLocked()
    }

    /// The same, for a caller that holds the change lock.
    func registerLocked() async throws(HubFailure) -> Bool {
        let record = try await storedRecord()
        guard let categories = record.categories else { return false }
        let installation = Installation(
            id: record.installation,
            platform: .stream,
            pushChannel: .handle(record.channel.text),
            tags: categories.compactMap { try? Tag($0) },
            templates: [AgentTemplate.name: InstallationTemplate(body: record.template.body)]
        )
        do {
            try await client.put(installation, channel: record.channel)
        } catch {
            let failure = HubFailure(error)
            if case .notFound(let detail) = failure { throw .refused(HubFailure.noSuchHub(detail)) }
            throw failure
        }
        // Without this mark the next start registers again, which changes nothing.
        try? await store.setRegistered(categories, template: record.template.ownBody)
        return true
    }

    /// Says, once for each, which chosen categories the hub no longer has; the choice stays as it is.
    func warnOfRetired() async {
        guard let known = try? await client.categories(), let record = try? await store.record() else { return }
        let retired = CategoryChoice.retired(record.categories ?? [], known: known)
        guard retired != record.retired else { return }
        // Marked before it is said: a mark that fails would have it said at every start.
        do { try await store.setRetired(retired) } catch { return }
        let news = retired.filter { !record.retired.contains($0) }
        guard !news.isEmpty else { return }
        let names = news.map { "'\($0)'" }.joined(separator: ", ")
        environment.reporter.warning("the hub has no category \(names) any more; nothing will come for it")
    }

    func storedRecord() async throws(HubFailure) -> AgentRecord {
        do {
            return try await store.record()
        } catch {
            throw .refused(error.asAgentError)
        }
    }
}
