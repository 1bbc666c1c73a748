import HubProtocol
import WebEdge

/// Sends notifications to users by their names.
package struct UserNotifier: Sendable {
    /// The largest number of notifications of one sender in a minute.
    static let sendersLimit = 60
    /// The largest number of notifications to one addressee in a minute.
    static let addresseesLimit = 30

    private let hub: any NotificationHub
    private let platforms: HubPlatforms
    private let counts: BackendCounts
    private let senders: MinuteLimiter<UserName>
    private let addressees: MinuteLimiter<UserName>

    init(hub: any NotificationHub, platforms: HubPlatforms, counts: BackendCounts, clock: BackendClock) {
        self.hub = hub
        self.platforms = platforms
        self.counts = counts
        senders = MinuteLimiter(Self.sendersLimit, clock: clock.monotonic)
        addressees = MinuteLimiter(Self.addresseesLimit, clock: clock.monotonic)
    }

    /// - Throws: 403 if the caller may not notify this user.
    func checkRight(of caller: Caller, to addressee: UserName) throws(BackendRefusal) {
        guard caller.mayNotifyOthers || caller.name == addressee else {
            throw .forbidden("You may notify only yourself.")
        }
    }

    /// Counts a notification.
    ///
    /// - Throws: 429 if the sender or the addressee has too many, even if the addressee does not exist.
    func admit(_ caller: Caller, to addressee: UserName) throws(BackendRefusal) {
        if let wait = senders.admit(caller.name) {
            throw .tooManyRequests("You may send \(Self.sendersLimit) notifications a minute.", retryAfter: wait)
        }
        if let wait = addressees.admit(addressee) {
            throw .tooManyRequests(
                "A user may be sent \(Self.addresseesLimit) notifications a minute.",
                retryAfter: wait
            )
        }
    }

    /// Sends a notification to all devices of a user on the chosen platforms.
    ///
    /// A user who does not exist gives the same result as a user without devices.
    ///
    /// - Throws: ``BackendRefusal`` if the hub does not report its platforms; nothing was sent in this case.
    func send(
        to addressee: UserName,
        on choice: PlatformChoice,
        _ message: @Sendable (NotifiedPlatform) -> OutgoingMessage
    ) async throws -> PlatformResults {
        let finding: HubPlatforms.Finding
        do {
            finding = try await platforms.current()
        } catch let error as HubError {
            throw BackendRefusal(error)
        }
        let tag = DeviceTags.tag(of: addressee).text
        let results = await withTaskGroup(of: PlatformResult.self) { group in
            for platform in choice.platforms {
                var message = message(platform)
                message.tags = tag
                // libcurl repeats a request if the server has closed the connection that it reuses.
                if finding != .unknown { message.idempotencyKey = OutgoingMessage.newIdempotencyKey() }
                let tagged = message
                group.addTask {
                    PlatformResult(platform: platform, outcome: await send(tagged, on: platform, finding))
                }
            }
            return await group.reduce(into: [NotifiedPlatform: PlatformResult]()) { $0[$1.platform] = $1 }
        }
        for result in results.values { counts.notifications.add(result.platform.rawValue, result.outcome.name) }
        return PlatformResults(results: choice.platforms.compactMap { results[$0] }, choice: choice)
    }

    private func send(
        _ message: OutgoingMessage,
        on platform: NotifiedPlatform,
        _ finding: HubPlatforms.Finding
    ) async -> PlatformResult.Outcome {
        if let reason = finding.obstacle(platform) { return .skipped(.conflict(reason)) }
        let limit = platform.maximumBytes ?? Message.maximumBytes
        guard message.body.count <= limit else {
            return .skipped(
                .tooLarge("A notification on '\(platform.rawValue)' has at most \(limit) bytes, with its JSON or XML.")
            )
        }
        do throws(HubError) {
            _ = try await hub.send(message)
            return .accepted
        } catch {
            // A hub that does not report its platforms refuses those without credentials.
            if finding == .unknown, case .refused(400, _, _, _) = error { return .skipped(BackendRefusal(error)) }
            return .failed(BackendRefusal(error), isCertain: error.isCertain)
        }
    }
}
