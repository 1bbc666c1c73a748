import HostSystem

/// A lock for changes of a profile's choice or of its installation at the hub.
///
/// One process may listen while another changes the choice. Each holds this lock from reading the choice until the
/// hub's reply, so that hub and disk end up with the same choice, and an installation that is being deleted is not
/// registered again.
enum ChangeLock {
    static let name = "change.lock"
    /// Longest wait for another process's change; longer than the time-outs of its calls to the hub.
    static let patience = Duration.seconds(90)
    static let glance = Duration.milliseconds(100)

    /// - Throws: ``AgentError``, with exit 75 if another process has held it for too long.
    static func acquire(
        in directory: StateDirectory,
        _ environment: AgentEnvironment
    ) async throws(AgentError) -> FileLock {
        let path = directory.file(name)
        let deadline = environment.elapsed() + patience
        while true {
            if let lock = try withHost({ () throws(HostError) in try FileLock.acquire(path) }) { return lock }
            guard environment.elapsed() < deadline else {
                throw AgentError(.tryLater, "another newswire is changing this profile: '\(path)' is locked")
            }
            do {
                try await environment.sleep(glance)
            } catch {
                throw HubFailure.cancelled.asAgentError
            }
        }
    }
}
