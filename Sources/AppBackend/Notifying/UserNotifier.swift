import HubClient
import HubProtocol

/// Sends notifications to users by their names.
package struct UserNotifier: Sendable {
    /// Notifications of one sender in a minute.
    static let sendersLimit = 60
    /// Notifications to one addressee in a minute.
    static let addresseesLimit = 30

    private let hub: HubClient
    private let platforms: HubPlatforms
    private let counts: BackendCounts
    private let senders: MinuteLimiter<UserName>
    private let addressees: MinuteLimiter<UserName>

    init(hub: HubClient, platforms: HubPlatforms, counts: BackendCounts, clock: BackendClock) {
        self.hub = hub
        self.platforms = platforms
        self.counts = counts
        senders = MinuteLimiter(Self.sendersLimit, clock: clock.monotonic)
        addressees = MinuteLimiter(Self.addresseesLimit, clock: clock.monotonic)
    }

    /// - Throws: 403 if the caller may not notify this user.
    func checkRight(of caller: Caller, to addressee: UserName) throws(BackendRefusal) {
        guard caller.mayNotifyOthers || caller.name == addressee else {
            throw .forbidden("You may notify nobody but yourself.")
        }
    }

    /// Counts a notification.
    ///
    /// - Throws: 429 when there are too many of the sender, or for the addressee, whether there is such a user or not.
    func admit(_ caller: Caller, to addressee: UserName) throws(BackendRefusal) {
        if let wait = senders.admit(caller.name) {
            throw .tooManyRequests("You send more than \(Self.sendersLimit) notifications a minute.", retryAfter: wait)
        }
        if let wait = addressees.admit(addressee) {
            throw .tooManyRequests(
                "There are more than \(Self.addresseesLimit) notifications a minute for this user.",
                retryAfter: wait
            )
        }
    }

    /// Sends a notification to all devices of a user on the chosen platforms.
    ///
    /// The result for a user who does not exist is that for one without devices.
    ///
    /// - Throws: ``BackendRefusal`` if the hub does not say where it delivers; nothing was sent then.
    func send(
        to addressee: UserName,
        on choice: PlatformChoice,
        _ message: @Sendable (NotifiedPlatform) -> OutgoingMessage
    ) async throws -> PlatformResults {
        let finding: HubPlatforms.Finding
        do {
            finding = try await platforms.current()
        } catch let error as HubClientError {
            throw BackendRefusal(error)
        }
        let tag = DeviceTags.tag(of: addressee).text
        let results = await withTaskGroup(of: PlatformResult.self) { group in
            for platform in choice.platforms {
                var message = message(platform)
                message.tags = tag
                let tagged = message
                group.addTask {
                    PlatformResult(platform: platform, outcome: await send(tagged, on: platform, finding))
                }
            }
            return await group.reduce(into: [NotifiedPlatform: PlatformResult]()) { $0[$1.platform] = $1 }
        }
        for result in results.values { counts.count(result) }
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
                .tooLarge("A notification on '\(platform.rawValue)' has at most \(limit) bytes, with its form.")
            )
        }
        do throws(HubClientError) {
            _ = try await hub.send(message)
            return .accepted
        } catch {
            // A hub that does not tell its platforms refuses those without credentials.
            if finding == .unknown, case .refused(400, _, _, _) = error { return .skipped(BackendRefusal(error)) }
            return .failed(BackendRefusal(error), isCertain: error.isCertain)
        }
    }
}
